#!/usr/bin/env python3
"""mpi4py's own tests by its own program, which then writes the ids of the skipped ones of this rank into a file, a line each.
usage: suite.py FOLDER_OF_TESTS FILE_OF_SKIPS ARGUMENTS..."""
import pathlib
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[1])
import main

skips = pathlib.Path(sys.argv[2])
del sys.argv[1:3]


class Suite(main.TestProgram):
    def runTests(self):
        try:
            super().runTests()
        finally:
            from mpi4py import MPI
            ids = sorted({self.name(test) for test, _ in self.result.skipped})
            pathlib.Path(f'{skips}.{MPI.COMM_WORLD.Get_rank()}').write_text(''.join(i + '\n' for i in ids))

    @staticmethod
    def name(test):
        """What was skipped: a test, or a class (`setUpClass (id)`), or a module."""
        return test.id() if isinstance(test, unittest.TestCase) else test.id().partition('(')[2].rstrip(')')


Suite(module=None)
