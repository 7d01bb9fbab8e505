#!/usr/bin/env python3
"""clang-tidy 16 over what is compiled once (src/) and over one translation unit that holds every public header.
usage: check_tidy.py ROOT BUILD      BUILD has compile_commands.json"""
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

TOOL = 'clang-tidy-16'


def run(root, source, *arguments):
    start = time.monotonic()
    done = subprocess.run([TOOL, '--quiet', str(source), *arguments], cwd=root, capture_output=True, text=True)
    said = [x for x in done.stdout.splitlines() if x.strip()]
    return source, done.returncode, said or done.stderr.splitlines()[:20] * bool(done.returncode), time.monotonic() - start


def main():
    root, build = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
    rows = json.loads((build / 'compile_commands.json').read_text())
    known = {os.path.realpath(build / row['file']) for row in rows}
    sources = sorted(p for p in (root / 'src').rglob('*.cpp') if os.path.realpath(p) in known)
    names = [x for x in (root / 'include/mpt/headers.txt').read_text().splitlines() if x and not x.startswith('#')]
    known_to_gcc = '--extra-arg=-Wno-unknown-warning-option'  # the build may be g++'s
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for row in rows:  # clang cannot read what g++ precompiled
            row['command'] = re.sub(r' -fpch-preprocess| -Winvalid-pch| -include all\.hpp', '', row['command'])
        pathlib.Path(folder, 'compile_commands.json').write_text(json.dumps(rows))
        whole = pathlib.Path(folder) / 'every_header.cpp'
        whole.write_text(''.join(f'#include <mpt/{h}>\n' for h in names))
        flags = [f'--config-file={root / ".clang-tidy"}', '--', '-std=c++20', '-I', str(root / 'include')]
        jobs = [pool.submit(run, root, whole, *flags)] + [pool.submit(run, root, s, '-p', folder, known_to_gcc) for s in sources]
        results = [j.result() for j in concurrent.futures.as_completed(jobs)]
    failed, seen = 0, set()
    for source, rc, said, seconds in results:
        failed += rc != 0
        text = '\n'.join(said)
        if rc and text not in seen:
            print(text)
        seen.add(text)
    slow = max(results, key=lambda r: r[3])
    print(f'{len(results)} files, {failed} with findings; slowest {slow[0].name}, {slow[3]:.0f} s')
    return failed != 0


sys.exit(main())
