#!/usr/bin/env python3
"""OpenSHMEM's interface is the specification's: the functions of bindings/c/shmem/shmem_api.tbl have the names, prototypes, versions
and C11 generics of test/data/abi/shmem*; what is missing has the word `later`; shmem.h compiles in every language that it is for; and
each family that works is called by a test of test/shmem.
usage: check_shmem.py [ROOT | --self-test]"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import lint

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / 'bindings/c/shmem'))
import families  # noqa: E402
import shmem_header  # noqa: E402

API, FACTS = 'bindings/c/shmem/shmem_api.tbl', 'test/data/abi'
LANGUAGES = [('gcc', 'c', 'c99'), ('gcc', 'c', 'c11'), ('gcc', 'c', 'gnu17'), ('g++', 'c++', 'c++11'), ('g++', 'c++', 'c++20'),
             ('clang-16', 'c', 'c11'), ('clang++-16', 'c++', 'c++20')]


def rows(path):
    title, *lines = path.read_text().splitlines()
    return [dict(zip(title.split('\t'), line.split('\t'))) for line in lines if line.strip()]


def pattern(function, family):
    """A function's name and prototype with a family's placeholders, as the facts write them."""
    sized = re.sub(r'(?<=[a-z])(8|16|32|64|128)(?=_|$)', '<SIZE>', function.name)
    if function.type_name:
        name = re.sub(rf'_{function.type_name}_', '_<TYPENAME>_', function.name, count=1)
    else:
        name = sized if len(family.words.get('sizes', families.ALL_SIZES).split(',')) > 2 else function.name
    inside = ', '.join(families.joined(p.type('TYPE' if function.type_name else 'void'), p.name) if p.name != 'more' else '...'
                       for p in function.parameters()) or 'void'
    returns = 'TYPE' if family.returns == 'T' else family.returns
    return name, families.joined(returns, f'{name}({inside})')


def check_names(api, symbols):
    known = {row['symbol'] for row in symbols}
    ours = {f.name: f.family for family in api.families for f in family.functions()}
    yield from (f'{name} is not there' for name in sorted(known - ours.keys()))
    for name, family in ours.items():
        if name not in known and 'extension' not in family.words and family.words.get('since') != '1.0':
            yield f'line {family.line}: {name} is no function of OpenSHMEM'


def check_prototypes(api, facts):
    by_name = {row['family']: row for row in facts}
    found = set()
    for family in api.families:
        for f in family.functions():
            name, prototype = pattern(f, family)
            fact = by_name.get(name)
            found.add(name)
            if not fact:
                continue
            if fact['prototype'] != prototype:
                yield f'line {family.line}: "{prototype}" is not "{fact["prototype"]}"'
            if (fact['deprecated'] == '1') != ('deprecated' in family.words) and '_wait' not in name and '_test' not in name:
                yield f'line {family.line}: {name} is {"" if fact["deprecated"] == "1" else "not "}deprecated'
    yield from (f'the family {name} is not there' for name in sorted(by_name.keys() - found))


def check_generics(api, wanted):
    ours = {f.generic() for f in api.families if f.generic()} | {'shmem_sync', 'shmem_global_exit'}  # the last is _Noreturn
    yield from (f'{name} is generic in C11, and has not the word' for name in sorted(wanted - ours))
    yield from (f'{name} has the word generic, and is not in C11' for name in sorted(ours - wanted)
                if not name.startswith('shmemx'))


def check_compiled(api):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder)
        (path / 'shmem.h').write_text(shmem_header.text(api))
        (path / 'pshmem.h').write_text(shmem_header.profiling(api))
        (path / 'program').write_text('#include <pshmem.h>\n#include <shmem.h>\nint main(void) { return 0; }\n')
        for compiler, language, standard in LANGUAGES:
            if not shutil.which(compiler):
                continue
            done = subprocess.run([compiler, '-x', language, f'-std={standard}', '-pedantic', '-Wall', '-Wextra', '-Werror', '-fsyntax-only',
                                   '-I', folder, path / 'program'], capture_output=True, text=True)
            if done.returncode:
                yield f'{compiler} -std={standard}: {done.stderr[:400]}'


def check_tested(api, root):
    """Each family is named by a test: by a function of it, by its generic name, or by the name with type, size and operation left open."""
    text = '\n'.join((root / p).read_text() for p in lint.sources(root, 'test/shmem'))
    words = set(re.findall(r'\w+', text))
    for family in api.there():
        names = {f.name for f in family.functions()} | {family.generic(), family.name.rstrip('#')}
        names.add(re.sub(r'_(and|or|xor|max|min|sum|prod)_to_all', '_to_all', re.sub(r'shmemx?_(team_)?@', '', family.name)))
        if not names & words:
            yield f'line {family.line}: {family.name} works, but no test of test/shmem calls it'


def check(root):
    api = families.read(root / API)
    facts = root / FACTS
    wanted = set((facts / 'shmem16_c11_generic.txt').read_text().split())
    errors = [*check_names(api, rows(facts / 'shmem_symbols.tsv')), *check_prototypes(api, rows(facts / 'shmem16_families.tsv')),
              *check_generics(api, wanted), *check_tested(api, root), *check_compiled(api)]
    count = sum(len(f.functions()) for f in api.there())
    later = sum(len(f.functions()) for f in api.families if f.later)
    return [f'{API}: {e}' for e in errors], f'{count} functions as the specification has them; {later} are not there yet'


GOOD = {
    API: 'type int: int\ntypes rma: int\nkind DEST check=symmetric: a\n    T *\nkind VALUE: a\n    T\nkind PE check=pe: a\n    int\n'
         'section Memory:\nshmem_@_p types=rma ctx generic since=1.3: Copies.\n    dest: DEST[1], value: VALUE, pe: PE\n    -> p(ctx)\n'
         'shmem_fence deprecated since=1.3: Orders.\n    -> fence()\n'
         'kind TEAM: a\n    shmem_team_t\nshmem_team_sync returns=int since=1.5: Meets.\n    team: TEAM\n    -> sync(team)\n',
    f'{FACTS}/shmem16_families.tsv':
        'family\tprototype\tgroup\ttype_table\tfirst\tdeprecated\n'
        'shmem_<TYPENAME>_p\tvoid shmem_<TYPENAME>_p(TYPE *dest, TYPE value, int pe)\ta\tb\t1.3\t0\n'
        'shmem_ctx_<TYPENAME>_p\tvoid shmem_ctx_<TYPENAME>_p(shmem_ctx_t ctx, TYPE *dest, TYPE value, int pe)\ta\tb\t1.3\t0\n'
        'shmem_team_sync\tint shmem_team_sync(shmem_team_t team)\ta\t\t1.5\t0\n'
        'shmem_fence\tvoid shmem_fence(void)\ta\t\t1.3\t1\n',
    f'{FACTS}/shmem_symbols.tsv': 'symbol\tgroup\tfirst\tlast\tdeprecated\n' + ''.join(
        f'{name}\ta\t1.3\t1.6\t0\n' for name in ('shmem_int_p', 'shmem_ctx_int_p', 'shmem_fence', 'shmem_team_sync')),
    f'{FACTS}/shmem16_c11_generic.txt': 'shmem_global_exit\nshmem_p\nshmem_sync\n',
    'test/shmem/a.c': 'int main(void) { shmem_p(1); shmem_fence(); shmem_team_sync(1); }\n',
}
FAMILIES = f'{FACTS}/shmem16_families.tsv'
FAULTS = [
    ('another type of a parameter', {FAMILIES: GOOD[FAMILIES].replace('TYPE value, int', 'TYPE value, long')}, 'is not "void shmem_<TYPENAME>_p('),
    ('another name of a parameter', {API: GOOD[API].replace('value: VALUE', 'data: VALUE')}, 'TYPE data, int pe)" is not'),
    ('a function that is missing', {API: GOOD[API].replace('shmem_fence', 'shmem_fense')}, 'shmem_fence is not there'),
    ('a function too many', {API: GOOD[API].replace('shmem_fence', 'shmem_fense')}, 'shmem_fense is no function of OpenSHMEM'),
    ('a twin without a context', {API: GOOD[API].replace(' ctx generic', ' generic').replace('ctx)', ')')}, 'shmem_ctx_int_p is not there'),
    ('a generic name forgotten', {API: GOOD[API].replace(' generic', '')}, 'shmem_p is generic in C11'),
    ('deprecated, and not said', {API: GOOD[API].replace(' deprecated', '')}, 'shmem_fence is deprecated'),
    ('a family that no test calls', {'test/shmem/a.c': 'int main(void) { shmem_p(1); shmem_team_sync(1); }\n'}, 'shmem_fence works, but no test'),
]
if __name__ == '__main__':
    lint.main(check, GOOD, FAULTS)
