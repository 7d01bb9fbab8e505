#!/usr/bin/env python3
"""The generated mpi.h is the standard's: every function, constant and type is compared with the facts of test/data/abi, twice.
By text, where nothing may be missing and nothing be there beside; and by the compilers, which get an assertion for every
constant and every function once more, as the facts have it: declarations that differ do not compile. The kinds, directions and
lengths of mpi_api.tbl, which no compiler sees, are compared with the standard's own list.
usage: check_abi.py ROOT HEADER | --self-test"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / 'bindings/c'))
sys.dont_write_bytecode = True
import declare   # noqa: E402
import generate  # noqa: E402

FACTS = 'test/data/abi'
# A pointer is written as an array in one place of the standard; C makes no difference.
SAME_TYPE = {'const char []': 'const char *'}
# What the standard's list calls an input although it is written, or read and written; with its reason.
OTHER_DIRECTION = {
    ('MPI_Precv_init', 'buf'): 'the partitions that arrive are written there',
    ('MPI_Cancel', 'request'): 'a pointer, although the handle stays',
    ('MPI_Info_create_env', 'argc'): 'read only, and no pointer',
    ('MPI_Info_create_env', 'argv'): 'read only',
}
# Words that the standard's list has too much or too little of; with its reason.
OTHER_WORDS = {('MPI_Scatterv_init', 'recvbuf', 'root'): 'all ranks receive, as in MPI_Scatterv'}
STATUS = [('MPI_SOURCE', 0), ('MPI_TAG', 4), ('MPI_ERROR', 8), ('MPI_internal', 12)]
STATUS_SIZE = 32
INTEGERS = ['MPI_Aint', 'MPI_Offset', 'MPI_Count']
COMPILERS = [('gcc', 'c', ['c99', 'c17']), ('g++', 'c++', ['c++11', 'c++20']), ('clang', 'c', ['c99']),
             ('clang-16', 'c', ['c99']), ('clang++', 'c++', ['c++20']), ('clang++-16', 'c++', ['c++20'])]


# ------------------------------------------------------------------------------------------------------- the facts

def rows(root, name):
    """The rows of a table of facts, as dictionaries."""
    title, *lines = (root / FACTS / name).read_text().splitlines()
    keys = [k.split(' ')[0] for k in title.split('\t')]
    return [dict(zip(keys, line.split('\t') + [''] * len(keys))) for line in lines if line.strip()]


class Facts:
    def __init__(self, root):
        self.functions = {r['name']: (r['return'], pairs(r['parameters'])) for r in rows(root, 'mpi5_functions.tsv')}
        self.constants = {r['name']: (int(r['value']), constant_type(r)) for r in rows(root, 'mpi5_constants.tsv')}
        lines = (root / FACTS / 'mpi4py_abi_symbols.txt').read_text().split('\n')
        self.symbols = [line for line in lines if line and not line.startswith('#')]
        self.kinds = {r['name']: r for r in rows(root, 'mpi5_kinds.tsv')}
        self.ours = {r['kind']: r['facts'].split() for r in rows(root, 'kinds_of_ours.tsv')}


def constant_type(row):
    """The C type of a constant. The list calls other names of a datatype an int."""
    alias = row['type'] == 'int' and row['group'] == 'predefined_datatypes'
    return 'MPI_Datatype' if alias else row['type'].replace(' ', '')


def pairs(text):
    """[(type, name)] of 'const int [] x; ...'."""
    parts = [p.strip() for p in text.split(';')]
    return [(p, '') if p == '...' else tuple(p.rsplit(' ', 1)) for p in parts if p and p != 'void']


# ------------------------------------------------------------------------------------------------------ the header

class Header:
    """What a header says, read as text: functions, constants, and the names of everything else that it defines."""

    def __init__(self, text):
        text = re.sub(r'/\*.*?\*/', '', text, flags=re.S)
        self.functions, self.constants = {}, {}
        for name, value in re.findall(r'^#define (\w+) (.+?)\s*$', text, flags=re.M):
            self.constants[name] = self.macro(name, value)
        code = re.sub(r'^#.*$', '', text, flags=re.M)
        for body in re.findall(r'enum\s*\w*\s*\{([^}]*)\}', code):
            for item in body.split(','):
                name, _, value = item.partition('=')
                self.constants[name.strip()] = (int(value, 0), 'int(enum)')
        for statement in code.split(';'):
            m = re.search(r'([\w ]+?[ *]+)(\w+)\s*\(([^)]*)\)\s*$', statement, flags=re.S)
            if m and 'typedef' not in statement:
                self.functions[m[2]] = (m[1].strip(), [c_pair(p) for p in m[3].split(',') if p.strip() != 'void'])

    def macro(self, name, value):
        """(value, type) of what a macro stands for; None for what is no constant."""
        if m := re.match(r'\(\(([\w *]+)\) (-?\w+)\)$', value):
            return int(m[2], 0), m[1].replace(' ', '')
        if re.match(r'-?\d+$', value):
            return int(value), 'int'
        return self.constants.get(value)


def c_pair(text):
    """(type, name) of 'const int x[]'."""
    text = ' '.join(text.split())
    if text == '...':
        return text, ''
    m = re.match(r'(.*?)(\w+)((?:\[\d*\])*)$', text)
    return declare.spaced(m[1] + m[3]), m[2]


def same(type_):
    return SAME_TYPE.get(type_, type_)


def check_functions(facts, header):
    for prefix in ('', 'P'):
        wanted = {prefix + name: what for name, what in facts.functions.items()}
        found = {name: what for name, what in header.functions.items() if name.startswith(prefix + 'MPI_')}
        yield from (f'{name} is not declared' for name in sorted(wanted.keys() - found.keys()))
        yield from (f'{name} is declared, but is no function of the standard' for name in sorted(found.keys() - wanted.keys()))
        for name in sorted(wanted.keys() & found.keys()):
            yield from check_function(name, wanted[name], found[name])
    foreign = [name for name in header.functions if not name.startswith(('MPI_', 'PMPI_'))]
    yield from (f'{name} is declared, but is no function of the standard' for name in foreign)
    yield from (f'{name} is not declared, and mpi4py needs it' for name in facts.symbols if name not in header.functions)


def check_function(name, wanted, found):
    if wanted[0] != found[0]:
        yield f'{name} returns {found[0]}, not {wanted[0]}'
    if len(wanted[1]) != len(found[1]):
        yield f'{name} has {len(found[1])} parameters, not {len(wanted[1])}'
        return
    for n, ((type_, word), (got, got_word)) in enumerate(zip(wanted[1], found[1]), 1):
        if same(type_) != same(got) or word != got_word:
            yield f'{name}, parameter {n}: is "{got} {got_word}", not "{type_} {word}"'


def check_constants(facts, header):
    found = {name: what for name, what in header.constants.items() if what}
    yield from (f'{name} is not defined' for name in sorted(facts.constants.keys() - found.keys()))
    foreign = sorted(found.keys() - facts.constants.keys())
    yield from (f'{name} is defined, but is no constant of the standard' for name in foreign)
    for name in sorted(facts.constants.keys() & found.keys()):
        (value, type_), (is_, is_type) = facts.constants[name], found[name]
        if (value, type_) != (is_, is_type):
            yield f'{name} is {is_} of {is_type}, not {value} of {type_}'


# ------------------------------------------------------------------------------------------------------- the table

def check_kinds(facts, api):
    """What the table says of each parameter, against the standard's list."""
    functions = {f.name: f for f in api.functions()}
    yield from (f'{name} is not in the table' for name in sorted(facts.kinds.keys() - functions.keys()))
    for name, fact in sorted(facts.kinds.items()):
        if name not in functions:
            continue
        function = functions[name]
        if function.large != bool(fact['large_count_variant']):
            yield f'{name}: the table {"has" if function.large else "lacks"} a large twin'
        if fact['return_kind'] not in facts.ours.get(function.returns.name, ()):
            yield f'{name} returns {function.returns.name}, which is no {fact["return_kind"]}'
        listed = [p.strip().split(':') for p in fact['params'].split(' ; ') if p.strip()]
        if len(listed) != len(function.parameters):
            yield f'{name} has {len(function.parameters)} parameters in the table, not {len(listed)}'
            continue
        for parameter, words in zip(function.parameters, listed):
            yield from (f'{name}, {parameter.name}: {e}' for e in check_kind(facts, name, parameter, words))


def check_kind(facts, function, parameter, listed):
    _, kind, *words = listed
    if kind not in facts.ours.get(parameter.kind.name, ()):
        yield f'is {parameter.kind.name}, which is no {kind}'
    direction = next((w for w in words if w in ('out', 'inout')), 'in')
    if direction != parameter.direction and (function, parameter.name) not in OTHER_DIRECTION:
        yield f'is {parameter.direction}, not {direction}'
    for word, ours in (('root_only', 'root'), ('async', 'async'), ('large_only', 'large')):
        if (word in words) != (ours in parameter.words) and (function, parameter.name, ours) not in OTHER_WORDS:
            yield f'{"lacks" if word in words else "has"} the word {ours}'
    length = next((w.removeprefix('array=') for w in words if w.startswith('array=')), None)
    if length not in (None, '', '*', '[n,3]') and length != parameter.length:
        yield f'has the length [{parameter.length}], not [{length}]'
    callback = next((w.removeprefix('func=') for w in words if w.startswith('func=')), None)
    if callback and callback != parameter.callback:
        yield f'is a {parameter.callback}, not a {callback}'


# --------------------------------------------------------------------------------------------------- the compilers

PROGRAM = '''/* Written by tools/check_abi.py: does not compile, or fails, where mpi.h is not the standard's. */
#include <stddef.h>
#include <stdio.h>
#include "mpi.h"
#include "mpi.h"
#ifdef __cplusplus
#define SURE(what, text) static_assert(what, text)
#define FOLDED(what, text)
#else
#define SURE(what, text) __extension__ _Static_assert(what, text)
#define FOLDED(what, text) __extension__ _Static_assert(what, text)
#endif
'''


def assertions(facts):
    """Each constant: its value, its type, and whether the preprocessor knows it."""
    for n, (name, (value, type_)) in enumerate(facts.constants.items()):
        if type_ == 'int':
            yield f'#if {name} != {value}\n#error "{name} is not {value} for the preprocessor"\n#endif'
        if type_ in ('int', 'int(enum)'):
            yield f'SURE({name} == {value}, "{name} is not {value}");'
        else:
            yield f'FOLDED((intptr_t) {name} == {value}, "{name} is not {value}");'
            yield f'extern {type_} typed_{n};\n{type_} typed_{n} = {name};'


def layout():
    yield f'SURE(sizeof(MPI_Status) == {STATUS_SIZE}, "MPI_Status is not {STATUS_SIZE} bytes");'
    for field, offset in STATUS:
        yield f'SURE(offsetof(MPI_Status, {field}) == {offset}, "MPI_Status.{field} is not at {offset}");'
    yield 'SURE(sizeof(((MPI_Status *) 0)->MPI_internal) == 20, "MPI_Status.MPI_internal is not five integers");'
    for type_ in INTEGERS:
        size = 'sizeof(void *)' if type_ == 'MPI_Aint' else '8'
        yield f'SURE(sizeof({type_}) == {size} && ({type_}) -1 < 0, "{type_} has another size or no sign");'


def declarations(facts):
    """Each function must have been declared, and the facts' own declaration must agree."""
    for prefix in ('', 'P'):
        for n, (name, (returns, parameters)) in enumerate(facts.functions.items()):
            inside = ', '.join(declare.joined(*pair) for pair in parameters) or 'void'
            yield f'enum {{ there_{prefix}{n} = sizeof(&{prefix}{name}) }};\n{returns} {prefix}{name}({inside});'


def main_function(facts):
    table = ',\n'.join(f'    {{"{name}", (long) (intptr_t) {name}, {value}L}}' for name, (value, _) in facts.constants.items())
    return f'''static struct {{ const char *name; long is_, wanted; }} constants[] = {{
{table}
}};
int main(void) {{
    size_t n, wrong = 0;
    for (n = 0; n < sizeof(constants) / sizeof(constants[0]); n++)
        if (constants[n].is_ != constants[n].wanted)
            wrong++, printf("%s is %ld, not %ld\\n", constants[n].name, constants[n].is_, constants[n].wanted);
    return wrong != 0;
}}
'''


def program(facts):
    begin, end = '#ifdef __cplusplus\nextern "C" {\n#endif', '#ifdef __cplusplus\n}\n#endif'
    lines = [PROGRAM, *assertions(facts), *layout(), begin, *declarations(facts), end, main_function(facts)]
    return '\n'.join(lines)


def compilers():
    """[(command, language, standard)] of the compilers that are here; of each name, one."""
    seen, found = set(), []
    for command, language, standards in COMPILERS:
        family = command.split('-')[0]
        if family not in seen and shutil.which(command):
            seen.add(family)
            found += [(command, language, standard) for standard in standards]
    return found


def complaint(done, what):
    lines = [line for line in done.stderr.splitlines() + done.stdout.splitlines() if 'error' in line or ' is ' in line]
    return f'{what}: ' + '\n    '.join(lines[:5] or [done.stderr[:500]])


def compile_and_run(folder, source, command, language, standard):
    """None, or what the compiler or the program says."""
    what = f'{command} -std={standard}'
    base = [command, '-x', language, f'-std={standard}', '-pedantic', '-Wall', '-Wextra', '-Werror', '-I', str(folder)]
    if command.startswith('clang'):
        base += ['-Wno-gnu-folding-constant']                         # a pointer's value in an assertion, on purpose
    done = subprocess.run([*base, str(source), '-o', str(folder / 'program')], capture_output=True, text=True)
    if done.returncode:
        return complaint(done, what)
    done = subprocess.run([str(folder / 'program')], capture_output=True, text=True)
    return complaint(done, what) if done.returncode else None


def check_compiled(facts, header_text, chosen):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / 'mpi.h').write_text(header_text)
        (folder / 'check.txt').write_text(program(facts))
        (folder / 'alone.txt').write_text('#include "mpi.h"\nint main(void) { return 0; }\n')
        for command, language, standard in chosen:
            oldest = 'c89' if language == 'c' else 'c++98'
            yield compile_and_run(folder, folder / 'check.txt', command, language, standard)
            if command in ('gcc', 'g++'):                              # clang has no int64_t in C++98
                yield compile_and_run(folder, folder / 'alone.txt', command, language, oldest)


# -------------------------------------------------------------------------------------------------------- together

def check(root, header_path, chosen):
    facts = Facts(root)
    text = header_path.read_text()
    header = Header(text)
    errors = [f'{header_path.name}: {e}' for e in [*check_functions(facts, header), *check_constants(facts, header)]]
    errors += [f'{header_path.name}: {e}' for e in check_compiled(facts, text, chosen) if e]
    api, _ = generate.read(root / 'bindings/c/mpi_api.tbl', root / 'bindings/c/mpi_constants.tbl')
    errors += [f'mpi_api.tbl: {e}' for e in check_kinds(facts, api)]
    by = ', '.join(f'{command} -std={standard}' for command, _, standard in chosen)
    count = f'{len(facts.functions)} functions, their PMPI twins and {len(facts.constants)} constants'
    return errors, f'{count} are the standard\'s, by text and by {by or "no compiler"}'


def main():
    if '--self-test' in sys.argv:
        import check_abi_faults
        return check_abi_faults.self_test()
    chosen = compilers()
    if not chosen:
        print('no compiler is here')
        return 1
    errors, summary = check(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), chosen)
    print('\n'.join(errors) or summary)
    return bool(errors)


if __name__ == '__main__':
    sys.exit(main())
