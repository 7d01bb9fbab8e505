#!/usr/bin/env python3
"""What peers.py makes of figures: ratios, the best, tables between a page's marks, plots that are XML; what a run may end like; and which
programs run.py takes."""
import json
import pathlib
import re
import sys
import tempfile
import unittest
import xml.dom.minidom

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import libraries  # noqa: E402
import peers  # noqa: E402
import plot  # noqa: E402

VALUES = {('latency', 2, 8, 'us'): {'mpt': [0.1, 0.2, 0.1], 'MPICH': [0.4, 0.4, 0.4], 'Intel MPI': [0.2, 0.2, 0.2]},
          ('latency', 2, 1024, 'us'): {'mpt': [0.5], 'MPICH': [0.4]},
          ('rate', 2, 8, 'M/s'): {'mpt': [40], 'MPICH': [10], 'Intel MPI': [20]},
          ('overlap', 2, 65536, '%'): {'mpt': [50], 'MPICH': [0]},
          ('start-up', 64, 0, 's'): {'MPICH': [1.5]}}
LIMITS = {('Crossing from core to core, one way', 'two lines (any ring; the calibration)', 8): 50.0}


def result():
    machine = {'cpu': 'A CPU', 'cores': 2, 'virtual': False, 'kernel': '6'}
    return {'machine': machine, 'date': 'today', 'version': '1', 'rounds': 3, 'left_out': ['x: why'], 'rows': peers.rows_of(VALUES, LIMITS)}


class Figures(unittest.TestCase):
    def row(self, test, size): return next(r for r in result()['rows'] if (r['test'], r['bytes']) == (test, size))

    def test_ratios_are_of_times_also_where_rates_are_measured(self):
        self.assertAlmostEqual(self.row('latency', 8)['to_best'], 0.5)
        self.assertAlmostEqual(self.row('latency', 8)['to_limit'], 2)
        self.assertAlmostEqual(self.row('rate', 8)['to_best'], 0.5)
        self.assertAlmostEqual(self.row('latency', 1024)['to_best'], 1.25)
        self.assertIsNone(self.row('overlap', 65536)['to_best'])
        self.assertIsNone(self.row('start-up', 0)['to_best'])

    def test_the_best_is_bold_and_what_is_missing_is_a_dash(self):
        lines = peers.table(result()['rows'], ['mpt', 'MPICH', 'Intel MPI'])
        self.assertIn('| latency, 2 ranks, 8 B, us | **0.1** | 0.4 | 0.2 | 0.50 | 2.00 (two cache lines) |', lines)
        self.assertIn('| start-up, 64 ranks, s | - | **1.5** | - |  |  |', lines)

    def test_a_page_gets_the_table_between_its_marks(self):
        with tempfile.TemporaryDirectory() as folder:
            page, data = pathlib.Path(folder) / 'page.md', pathlib.Path(folder) / 'result.json'
            data.write_text(json.dumps(result()))
            page.write_text(f'before\n{peers.BEGIN}\nstale\n{peers.END}\nafter\n')
            peers.put_table(data, page)
            text = page.read_text()
            self.assertTrue(text.startswith('before\n') and text.endswith('\nafter\n') and 'stale' not in text and '| rate, 2 ranks, 8 B, M/s |' in text)
            page.write_text('no marks')
            self.assertRaises(SystemExit, peers.put_table, data, page)

    def test_ranks_that_share_cpus_are_said_where_all_of_them_work_at_once(self):
        rows = [{'test': test, 'ranks': ranks, 'cpus': 2} for test, ranks in (('shmem_pairs_nbi', 68), ('shmem_pairs_nbi', 2), ('shmem_barrier', 8))]
        self.assertEqual([peers.ranks_of(r) for r in rows], ['68 ranks on 2 CPUs', '2 ranks', '8 ranks'])
        self.assertEqual(peers.ranks_of({'test': 'shmem_pairs_nbi', 'ranks': 16}), '16 ranks', 'a result of before')
        row, = peers.rows_of({('shmem_pairs_nbi', 68, 8, 'M/s'): {'mpt': [5]}}, {}, 1)
        self.assertIn('| shmem_pairs_nbi, 68 ranks on 1 CPU, 8 B, M/s | **5** |  |  |', peers.table([row], ['mpt']))

    def test_two_interfaces_of_one_library_are_compared_round_by_round(self):
        values = {('put', 2, 8, 'us'): {'mpt': [0.02, 0.04], 'MPICH': [1]}, ('shmem_put', 2, 8, 'us'): {'mpt': [0.01, 0.01], 'Open MPI oshmem': [1]},
                  ('shmem_put', 2, 16, 'us'): {'mpt': [0.01]}, ('put_bw', 2, 4096, 'GB/s'): {'mpt': [10]}, ('shmem_put_bw', 2, 4096, 'GB/s'): {'mpt': [20]}}
        found = peers.two_interfaces(values)
        self.assertEqual(found, {('shmem_put_to_mpi', 2, 8, 'ratio'): {'mpt': [0.5, 0.25]}, ('shmem_put_bw_to_mpi', 2, 4096, 'ratio'): {'mpt': [0.5]}})
        row = peers.rows_of(found, {})[0]
        self.assertEqual((row['values']['mpt']['median'], row['to_best']), (0.375, None))

    def test_numbers_of_threads_are_rows_of_one_table(self):
        self.assertEqual([peers.family(t) for t in ('threads_rate_16', 'rate', 'put_bw')], ['threads_rate', 'rate', 'put_bw'])

    def test_each_interface_has_a_headline_table_with_the_libraries_that_have_it(self):
        both = VALUES | {('shmem_put', 2, 8, 'us'): {'mpt': [0.01], 'Open MPI oshmem': [0.02]}}
        lines = peers.headline_table(result() | {'rows': peers.rows_of(both, {})})
        self.assertIn('| what | mpt | MPICH | Intel MPI | mpt / best peer | mpt / limit |', lines)
        self.assertIn('| what | mpt | Open MPI oshmem | mpt / best peer | mpt / limit |', lines)
        self.assertIn('| shmem_put, 2 ranks, 8 B, us | **0.01** | 0.02 | 0.50 |  |', lines)

    def test_mpt_by_another_lock_is_a_column_of_the_report_and_no_peer(self):
        more = {('threads_rate_4', 2, 8, 'M/s'): {'mpt': [10], 'mpt -mt': [40], 'mpt mutex': [5], 'MPICH': [20]}}
        row, = peers.rows_of(more, {})
        self.assertEqual((row['best'], row['to_best']), ('MPICH', 2))
        whole = result() | {'rows': [row]}
        self.assertIn('| threads_rate_4, 2 ranks, 8 B, M/s | 10 | **40** | 5 | 20 | 2.00 |  |', peers.markdown(whole).splitlines())
        self.assertIn('| what | mpt | MPICH | mpt / best peer | mpt / limit |', peers.headline_table(whole))

    def test_plots_are_xml_and_the_report_says_what_is_left_out(self):
        xml.dom.minidom.parseString(plot.page(result()['rows'], peers.names_of(result()['rows'])))
        xml.dom.minidom.parseString(plot.page([], []))
        self.assertIn('- x: why', peers.markdown(result()))


class Programs(unittest.TestCase):
    def jobs(self):
        class asked: m, i, x, cpus = None, None, None, 2
        for asked.quick in (True, False): yield from peers.jobs(asked)

    def test_each_job_is_of_a_program_that_there_is_and_each_way_has_one(self):
        known = {*libraries.PROGRAMS, *libraries.SHMEM_PROGRAMS, *libraries.SHMEM_TESTS}
        self.assertEqual({program for _, _, program, _ in self.jobs()} ^ known, set())
        self.assertEqual([name for name, (test, _) in libraries.WAYS.items() if test not in libraries.SHMEM_TESTS], [])

    def test_mpt_by_its_variables_is_a_library_for_one_test_and_no_peer(self):
        table = ''.join(f.read_text() for f in (libraries.BENCH.parent / 'include/mpt/config/table').glob('*.hpp'))
        for way in libraries.ways(['mptrun'], 'x'):
            self.assertEqual((list(way.programs.values()), peers.is_ours(way.name)), (['x'], True))
            for variable in way.environment: self.assertIn(f'"{variable}"', table)

    def test_with_a_cpu_for_each_rank_that_many_ranks_do_what_more_than_two_do(self):
        class asked: quick, m, i, x, cpus = False, None, None, None, 16
        ranks = {}
        for what, n, *_ in peers.jobs(asked): ranks.setdefault(what, []).append(n)
        self.assertEqual([ranks[what] for what in ('latency', 'collectives', 'pairs', 'shmem collectives', 'shmem pairs')],
                         [[2, 16], [2, 16], [16], [2, 16], [2, 16, 68]])
        self.assertEqual(len(peers.chosen_cpus(2)), min(2, len(peers.os.sched_getaffinity(0))))

    def test_a_result_says_on_how_many_cpus(self):
        more = result() | {'cpus': 16}
        self.assertIn('all ranks on 16 CPUs', peers.markdown(more))
        self.assertIn('`peers.py --cpus 16`', peers.headline_table(more)[0])
        self.assertIn('`make bench`', peers.headline_table(result())[0])
        self.assertEqual(peers.limit_of({('Bare barrier', '8 processes on 2 CPUs', 0): 3.0}, 'barrier', 8, 0, 16), (None, None))

    def test_the_tests_of_openshmem_that_jobs_name_are_the_programs(self):
        text = (libraries.BENCH / libraries.SHMEM_PROGRAMS['shmem']).read_text()
        there = set(re.findall(r'\{"(\w+)", \w+, \d\}', text))
        self.assertEqual({words[-1] for what, _, _, words in self.jobs() if what.startswith('shmem ')}, there)

    def test_programs_in_c_are_not_run_as_google_benchmarks(self):
        with tempfile.TemporaryDirectory() as folder:
            built = pathlib.Path(folder)
            for name in ('lock_bench', 'core_bench', 'shmem_bench', 'thread_bench', 'limits'): (built / name).touch(0o755)
            (built / 'wait_bench').touch(0o644)
            self.assertEqual([p.name for p in peers.bench.google_programs(built)], ['core_bench', 'lock_bench'])


class Runs(unittest.TestCase):
    def shell(self, script):
        return peers.measure(peers.Library('sh', ['sh', '-c', script], {'any': 'x'}), 2, 'any', [], {min(peers.os.sched_getaffinity(0))})

    def test_lines_of_figures_are_read_and_others_are_not(self):
        rows, took, why = self.shell('echo "latency 8 0.25 us"; echo noise; echo "barrier 0 1e-3 us"')
        self.assertEqual((rows, why), ({('latency', 8): (0.25, 'us'), ('barrier', 0): (0.001, 'us')}, None))
        self.assertGreater(took, 0)

    def test_a_library_is_asked_only_for_programs_that_it_has(self):
        class asked: rounds, quick, only, m, i, x, cpus, patience, minutes = 1, True, '^shmem rate', None, None, None, 2, 90, None
        has, lacks = (peers.Library(name, ['sh', '-c', 'echo "shmem_rate_p 8 2 M/s"'], programs) for name, programs in (('has', {'shmem': 'x'}), ('lacks', {'messages': 'x'})))
        self.assertEqual(peers.take(asked, [has, lacks], {min(peers.os.sched_getaffinity(0))}), ({('shmem_rate_p', 2, 8, 'M/s'): {'has': [2.0]}}, []))

    def test_turns_of_cpus_that_are_far_apart_are_made_up_for_and_do_not_count(self):
        near, slow_words, slow_copies = (50, 0.05), (120, 0.05), (50, 0.14)
        class Told(peers.Spells):
            def __init__(self, places): self.command, self.seen, self.last, self.places = ['x'], [], None, iter(places)
            def look(self):
                self.seen.append(next(self.places))
                return self.seen[-1]
        class asked: rounds, quick, only, m, i, x, cpus, patience, minutes = 2, True, '^shmem rate', None, None, None, 2, 90, None
        with tempfile.TemporaryDirectory() as folder:
            count = f'echo . >> {folder}/n; echo "shmem_rate_p 8 $(wc -l < {folder}/n) M/s"'
            def taken(places):
                (pathlib.Path(folder) / 'n').write_text('')
                values, said = peers.take(asked, [peers.Library('has', ['sh', '-c', count], {'shmem': 'x'})], {min(peers.os.sched_getaffinity(0))}, Told(places))
                return values['shmem_rate_p', 2, 8, 'M/s']['has'], said
            self.assertEqual(taken([near] * 3), ([1.0, 2.0], []))
            values, said = taken([near, slow_words, near, near, near])
            self.assertEqual(values, [3.0, 4.0], 'what was far before or after is far')
            self.assertTrue(said[0].startswith('2 of 4 turns, in which the CPUs were far apart'), said)
            self.assertEqual(taken([near, slow_copies, slow_copies, near, near])[0], [1.0, 2.0], 'a single near one says little: what all libraries took counts')
            asked.minutes = 1e-9
            self.assertEqual(taken([near, slow_words, near, near, near])[0], [1.0, 2.0], 'no time is left to make up for them')

    def test_a_rare_state_of_the_cpus_does_not_say_what_is_near(self):
        spells = peers.Spells(None, {0})
        spells.seen = [(30, 0.03)] + [(100, 0.1)] * 10 + [(500, 0.5)] * 9
        self.assertEqual([spells.is_far(place) for place in spells.seen], [False] * 11 + [True] * 9)

    def test_how_far_apart_cpus_are_is_measured_or_not_known(self):
        with tempfile.TemporaryDirectory() as folder:
            program, cpus = libraries.spell_program(pathlib.Path(folder)), peers.os.sched_getaffinity(0)
            if not program or len(cpus) < 2: self.skipTest('no compiler here, or one CPU')
            looks = (peers.Spells(program, cpus).look() for _ in range(5)) # beside other programs the two may not meet within its seconds
            word, byte = next(filter(None, looks))
            self.assertTrue(1 < word and 0 < byte)
        self.assertIsNone(peers.Spells(program, cpus).look(), 'the program is gone')
        self.assertEqual(peers.Spells(None, cpus).turn(lambda: 7), (7, None))

    def test_a_run_that_fails_says_how(self):
        self.assertEqual(self.shell('echo "no such thing"; exit 3')[2], 'exit code 3: no such thing')

    def test_a_run_that_hangs_is_ended(self):
        patience, peers.PATIENCE = peers.PATIENCE, 0.2
        try: rows, _, why = self.shell('echo "latency 8 0.25 us"; sleep 100')
        finally: peers.PATIENCE = patience
        self.assertIn('did not end', why)
        self.assertEqual(rows, {('latency', 8): (0.25, 'us')}, 'what was measured before counts')


if __name__ == '__main__':
    unittest.main()
