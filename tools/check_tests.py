#!/usr/bin/env python3
"""A test beside each header: include/mpt/a/b.hpp is tested by test/a_b_test.cpp, and the test is in test/meson.build's list.
A floor's contract, a/a.hpp, may be tested by its conformance suite instead: test/a_conformance.hpp, which the policies' tests use.
usage: check_tests.py [ROOT | --self-test]"""
import re

import lint

# Headers without a test of their own name, each with its reason.
EXEMPT = {
    'include/mpt/mpt.hpp': 'the umbrella: includes the rest',
}


def test_of(header, all_headers):
    """The test of a header. A part, a/b/part.hpp of a/b.hpp, is tested with the whole."""
    while (whole := header.rpartition('/')[0] + '.hpp') in all_headers:
        header = whole
    return 'test/' + header.removeprefix('include/mpt/').removesuffix('.hpp').replace('/', '_') + '_test.cpp'


def check(root):
    all_headers, errors = lint.headers(root), []
    listed = set(re.findall(r"'([\w/.]+)'", (root / 'test/meson.build').read_text()))
    for header in all_headers:
        test = test_of(header, all_headers)
        name = test.removeprefix('test/').removesuffix('_test.cpp')
        there = (root / test).exists()
        room, stem = header.split('/')[-2:]
        suite = f'test/{room}_conformance.hpp'
        if not there and stem == room + '.hpp' and (root / suite).exists():
            if not any(suite.removeprefix('test/') in t.read_text() for t in (root / 'test').rglob('*_test.cpp')):
                errors.append(f'{suite}:1: no test uses it')
            continue
        if not there and header not in EXEMPT:
            errors.append(f'{header}:1: has no test; write {test}')
        if there and header in EXEMPT:
            errors.append(f'{test}:1: exists, but tools/check_tests.py excuses {header} from a test')
        if there and not re.search(r'\bTEST(_F|_P)?\s*\(|\bTYPED_TEST|INSTANTIATE_', (root / test).read_text()):
            errors.append(f'{test}:1: tests nothing')
        if there and not listed & {name, name + '_test.cpp'}:
            errors.append(f'{test}:1: is not in a list of test/meson.build')
    errors += [f'tools/check_tests.py: excuses {h}, which does not exist' for h in EXEMPT if h not in all_headers and (root / 'tools').exists()]
    errors = list(dict.fromkeys(errors))
    return errors, f'{len(all_headers)} headers, each with its test ({len(EXEMPT)} excused)'


GOOD = {**{h: '' for h in EXEMPT}, 'include/mpt/a/b.hpp': '', 'test/a_b_test.cpp': 'TEST(a_b, works) {}\n',
        'test/meson.build': "unit_tests = [\n  'a_b',\n]\n", 'tools/x': ''}
FAULTS = [
    ('a contract without a test', {'include/mpt/a/a.hpp': ''}, 'has no test; write test/a_a_test.cpp'),
    ('a conformance suite that nobody runs', {'include/mpt/a/a.hpp': '', 'test/a_conformance.hpp': ''}, 'no test uses it'),
    ('a header without a test', {'include/mpt/a/c.hpp': ''}, 'include/mpt/a/c.hpp:1: has no test; write test/a_c_test.cpp'),
    ('a test that tests nothing', {'test/a_b_test.cpp': '// later\n'}, 'tests nothing'),
    ('a test that is not built', {'test/meson.build': 'unit_tests = [\n]\n'}, 'is not in a list'),
    ('an excuse for a header with a test', {'test/mpt_test.cpp': 'TEST(a, b) {}\n'}, 'excuses include/mpt/mpt.hpp'),
    ('an excuse for nothing', {'include/mpt/mpt.hpp': None}, 'which does not exist'),
]
if __name__ == '__main__':
    lint.main(check, GOOD, FAULTS)
