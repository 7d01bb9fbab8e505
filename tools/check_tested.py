#!/usr/bin/env python3
"""Every function of the C interface that works is tested: each of bindings/c/mpi_api.tbl without the word `later`, and its large twin
where it has one, is named by the code of a test of test/c or test/consumer. Whether the test would find a stub no script can see.
usage: check_tested.py [ROOT | --self-test]"""
import pathlib
import sys

import lint

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / 'bindings/c'))
sys.dont_write_bytecode = True
import coverage  # noqa: E402
import generate  # noqa: E402

API, CONSTANTS = 'bindings/c/mpi_api.tbl', 'bindings/c/mpi_constants.tbl'
TESTS = coverage.TESTS


def check(root):
    api, _ = generate.read(root / API, root / CONSTANTS)
    works = [(f, name) for f in api.functions() if not f.later for name, _, _ in f.forms()]
    there = coverage.uses(root)
    errors = [f'{API}:{f.line}: {name} works, but no test of {" or ".join(TESTS)} calls it' for f, name in works if name not in there]
    return errors, f'{len(works)} functions that work, each named by a test'


GOOD = {
    CONSTANTS: 'handle MPI_Comm MPI_ABI_Comm: a\ninteger MPI_Count int64_t: b\ngroup e enum: E\n    MPI_ERR_ARG 13: a\n',
    API: 'kind COUNT: how many\n    c=int  large=MPI_Count  allowed=>=0  error=MPI_ERR_ARG\n'
         'kind ERROR_CODE: a code\n    c=int  allowed=any  error=MPI_ERR_ARG\n'
         'chapter 3: Messages\nsection pt2pt: Sending\nMPI_Send large: Sends.\n    count: COUNT\n'
         'MPI_Barrier: Meets.\n    code: ERROR_CODE\nMPI_Ibarrier later: Meets.\n    code: ERROR_CODE\n',
    'test/c/pt2pt_test.cpp': 'TEST(a, b) { MPI_Send(1); MPI_Send_c(1); }\n',
    'test/consumer/ring.c': 'int main(void) { return MPI_Barrier(0); }\n',
}
ONE = 'test/c/pt2pt_test.cpp'
FAULTS = [
    ('a function that nobody calls', {'test/consumer/ring.c': ''}, f'{API}:9: MPI_Barrier works, but no test'),
    ('a large twin that nobody calls', {ONE: 'TEST(a, b) { MPI_Send(1); }\n'}, f'{API}:7: MPI_Send_c works'),
    ('a small form that nobody calls', {ONE: 'TEST(a, b) { MPI_Send_c(1); }\n'}, 'MPI_Send works'),
    ('a function that works from now on', {API: GOOD[API].replace(' later', '')}, 'MPI_Ibarrier works'),
    ('a name in a comment', {'test/consumer/ring.c': '// MPI_Barrier\n'}, 'MPI_Barrier works'),
    ('a name in a sentence', {'test/consumer/ring.c': 'char const* a = "MPI_Barrier";\n'}, 'MPI_Barrier works'),
    ('a name in another', {'test/consumer/ring.c': 'PMPI_Barrier(0); MPI_Barrier_x(0);\n'}, 'MPI_Barrier works'),
]
if __name__ == '__main__':
    lint.main(check, GOOD, FAULTS)
