#!/usr/bin/env python3
"""Nothing above world/ reads a clock, yields, sleeps, draws a random number, asks which thread it is, or blocks in the kernel but
through the stack's world: else a rank could not be a thread or a fibre on a virtual clock. Read: include/mpt but world/.
usage: check_world.py [ROOT | --self-test]"""
import re

import lint

# Headers that may, each with its reason.
EXEMPT = {
    'include/mpt/mpi/attached_buffer.hpp': 'any thread of the program attaches and detaches a buffer at any time',
    'include/mpt/mpi/buffered.hpp': 'any thread of the program sends by an attached buffer at any time',
    'include/mpt/mpi/local_job.hpp': 'makes the threads that the ranks of a local job are',
    'include/mpt/mpi/session.hpp': 'any thread of the program opens a session at any time, and may be the first',
    'include/mpt/shmem/job.hpp': 'any thread of the program makes a context at any time',
    'include/mpt/shmem/job/room.hpp': 'any thread of the program makes a context at any time',
}
WORDS = [
    (r'\b(?:steady|system|high_resolution|utc|tai)_clock\b|\bclock_gettime\b|\bgettimeofday\b|\brdtsc\w*|::now\(\)', 'reads a clock'),
    (r'\bthis_thread\b|\bsched_yield\b|\bnanosleep\b|\busleep\b|\bsleep_until\b', 'yields, sleeps or asks its thread'),
    (r'\bpthread_self\b|\bgettid\b|\bgetpid\b|\bthread::id\b', 'asks which thread it is'),
    (r'\brandom_device\b|\bmt19937\w*|\bs?rand\s*\(|\bgetrandom\b', 'draws random numbers'),
    (r'\bstd::(?:j?thread|(?:recursive_|shared_|timed_)*mutex|condition_variable\w*|(?:counting_|binary_)?semaphore|latch|barrier|future|promise|async)\b',
     'uses threads or blocks in the kernel'),
    (r'\b(?:secure_)?getenv\b', 'reads the environment, not the configuration'),
    (r'\.(?:wait|notify_one|notify_all)\s*\(\s*std::memory_order', 'waits on an atomic'),
]
WORDS = [(re.compile(pattern), what) for pattern, what in WORDS]


def check(root):
    found, errors = lint.headers(root), []
    for rel in found:
        if rel.startswith('include/mpt/world/') or rel in EXEMPT:
            continue
        for n, line in enumerate((root / rel).read_text().splitlines(), 1):
            code = lint.split_line(line)[0]
            errors += [f'{rel}:{n}: {what} ("{m[0].strip()}"): only through World (world/world.hpp)'
                       for pattern, what in WORDS if (m := pattern.search(code))]
    errors += [f'tools/check_world.py: excuses {h}, which does not exist' for h in EXEMPT if h not in found]
    return errors, f'{len(found)} headers; only world/ and {len(EXEMPT)} excused know the machine'


GOOD = {**{h: 'std::thread t;\n' for h in EXEMPT}, 'include/mpt/world/native.hpp': 'auto t = std::chrono::steady_clock::now();\n',
        'include/mpt/a/b.hpp': '// steady_clock::now() would be wrong\nauto t = world.now(); world.yield(); world.sleep_for(d);\n'}
FAULTS = [(code, {'include/mpt/a/c.hpp': f'void f() {{ {code} }}\n'}, words) for code, words in [
    ('auto t = std::chrono::steady_clock::now();', 'c.hpp:1: reads a clock'),
    ('std::this_thread::yield();', 'yields, sleeps'),
    ('if (::gettid() == 1) return;', 'asks which thread'),
    ('std::random_device d;', 'draws random numbers'),
    ('static std::mutex m;', 'blocks in the kernel'),
    ('std::getenv("HOME");', 'reads the environment'),
]] + [('an excuse for nothing', {next(iter(EXEMPT)): None}, 'which does not exist')]
if __name__ == '__main__':
    lint.main(check, GOOD, FAULTS)
