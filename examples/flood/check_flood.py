#!/usr/bin/env python3
"""The flood's programs beside each other: the same fingerprint and picture on 1, 2, 3 and 4 ranks, a picture that can be read, and
sentences about maps that cannot. usage: check_flood.py MPTRUN MAP PROGRAM..."""
import pathlib
import re
import struct
import subprocess
import sys
import tempfile
import zlib

HOURS = '0.25'


def run(mptrun, ranks, program, *args):
    return subprocess.run([mptrun, '-n', str(ranks), program, *map(str, args)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def pixels(png):
    """Width, height and the rows of a PNG file of one data chunk; raises where anything is wrong."""
    data, chunks = png.read_bytes(), []
    if data[:8] != b'\x89PNG\r\n\x1a\n':
        raise ValueError('no signature')
    at = 8
    while at < len(data):
        length = struct.unpack('>I', data[at:at + 4])[0]
        body, crc = data[at + 4:at + 8 + length], struct.unpack('>I', data[at + 8 + length:at + 12 + length])[0]
        if zlib.crc32(body) != crc:
            raise ValueError(f'chunk {body[:4]} is damaged')
        chunks.append(body)
        at += 12 + length
    names = [c[:4] for c in chunks]
    if names != [b'IHDR', b'IDAT', b'IEND']:
        raise ValueError(f'chunks {names}')
    width, height = struct.unpack('>II', chunks[0][4:12])
    rows = zlib.decompress(chunks[1][4:])
    if len(rows) != height * (3 * width + 1) or any(rows[::3 * width + 1]):
        raise ValueError('rows of another length')
    return width, height, rows


def check_results(mptrun, map_file, programs, folder):
    errors, seen = [], set()
    for program in programs:
        for ranks in (1, 2, 3, 4):
            png = folder / 'flood.png'
            png.unlink(missing_ok=True)
            done = run(mptrun, ranks, program, map_file, png, HOURS)
            found = re.search(r'^  fingerprint    ([0-9a-f]{16})$', done.stdout, re.M)
            if done.returncode or not found or f', {ranks} ranks (' not in done.stdout:
                errors.append(f'{program} on {ranks}: exit code {done.returncode}: {done.stdout}{done.stderr}')
                continue
            try:
                seen.add((found[1], pixels(png)))
            except (OSError, ValueError, zlib.error) as e:
                errors.append(f'{program} on {ranks}: the picture: {e}')
    if len(seen) > 1:
        errors.append(f'results differ: fingerprints {sorted(f for f, _ in seen)}')
    return errors


def check_refusals(mptrun, map_file, programs, folder):
    whole = pathlib.Path(map_file).read_bytes()
    cases = {'missing.pgm': (None, 'cannot be read'), 'cut.pgm': (whole[:100_000], 'damaged: '), 'text.pgm': (b'no map', 'begin with P5')}
    errors = []
    for name, (content, words) in cases.items():
        path = folder / name
        if content is not None:
            path.write_bytes(content)
        for program in programs:
            done = run(mptrun, 2, program, path, folder / 'x.png')
            if done.returncode == 0 or f'flood: {path}: ' not in done.stderr or words not in done.stderr or 'terminate' in done.stderr:
                errors.append(f'{program} with {name}: exit code {done.returncode}, it says: {done.stderr}')
    return errors


def main():
    mptrun, map_file, *programs = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        errors = check_results(mptrun, map_file, programs, pathlib.Path(folder)) + check_refusals(mptrun, map_file, programs, pathlib.Path(folder))
    print('\n'.join(errors) or f'{len(programs)} programs agree on 1 to 4 ranks')
    return bool(errors)


sys.exit(main())
