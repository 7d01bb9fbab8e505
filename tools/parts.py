#!/usr/bin/env python3
"""The public headers that are included by what they include: the parts of a header that grew too long. In which order their text
comes depends on which of them a program names first, so that one of them may lean on another and be found out only where it is named
alone. Prints them as in #include <...>, a line each; tools/meson.build compiles them alone in every build.
usage: parts.py SOURCE-ROOT"""
import pathlib
import re
import sys


def parts(includes):
    """includes: {header: what it includes}. Those that can be reached from themselves."""
    def reached(start):
        seen, todo = set(), [*includes[start]]
        while todo:
            header = todo.pop()
            if header in seen or header not in includes: continue
            seen.add(header)
            todo += includes[header]
        return seen
    return sorted(h for h in includes if h in reached(h))


def main():
    root = pathlib.Path(sys.argv[1]) / 'include'
    includes = {str(p.relative_to(root)): re.findall(r'^#include <(mpt/[^>]+)>', p.read_text(), re.M) for p in root.rglob('*.hpp')}
    print('\n'.join(parts(includes)))


if __name__ == '__main__':
    main()
