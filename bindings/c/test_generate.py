#!/usr/bin/env python3
"""Tests of the generator: faults planted in small tables are found, each with its sentence; what a small table must give; and
the real table, written back from what was read of it, is what it was.
usage: test_generate.py"""
import pathlib
import re
import sys
import tempfile

import constants as constants_table
import declare
import entries
import generate
import header
import reading
import table
import test_reference

HERE = pathlib.Path(__file__).resolve().parent
CONSTANTS = '''handle MPI_Comm MPI_ABI_Comm: a communicator
integer MPI_Count int64_t: a number
status MPI_Status: what became of it
    MPI_SOURCE int 0: who
    MPI_internal int 4 elements=5: ours
callback MPI_User_function void: combines
    void *a, MPI_Count *b
callback MPI_User_function_c void: combines more
    void *a, MPI_Count *b, ...
group error_classes enum: Errors
    MPI_SUCCESS 0: none
    MPI_ERR_ARG 13: an argument
group comms MPI_Comm: Communicators
    MPI_COMM_NULL 0x100: none
    MPI_COMM_NONE MPI_COMM_NULL deprecated=MPI-2.0: none, as it was
'''
API = '''kind BUFFER: data
    c=const? void *@  fortran=TYPE(*), DIMENSION(..)  allowed=buffer  error=MPI_ERR_ARG
kind COUNT: how many
    c=int  large=MPI_Count  allowed=>=0  error=MPI_ERR_ARG
kind FUNCTION: a function
    c=callback *@  allowed=pointer  error=MPI_ERR_ARG
kind ERROR_CODE: a code
    c=int  allowed=in error_classes MPI_COMM_NULL  error=MPI_ERR_ARG
kind COMM: a communicator
    c=MPI_Comm  allowed=handle  error=MPI_ERR_ARG
kind RANGE: ranges
    c=int @[][3]  allowed=any  error=MPI_ERR_ARG
kind ROOT: a root
    c=int  allowed=root  error=MPI_ERR_ARG
chapter 3: Messages
section pt2pt: Sending
MPI_Send large: Sends.
    buf: BUFFER[count], count: COUNT, counts: COUNT[size(comm)] root async, root: ROOT of=comm,
    comm: COMM inout null
MPI_Op_create large: Makes.
    fn: FUNCTION=MPI_User_function, more: COUNT out large, codes: ERROR_CODE[MPI_ERR_ARG] out, ranges: RANGE
MPI_Wait returns=COMM deprecated=MPI-2.0 c-only: Waits.
'''
PROTOTYPES = '''MPI_Op_create\tint\tMPI_User_function * fn; int [] codes; int [][3] ranges
MPI_Op_create_c\tint\tMPI_User_function_c * fn; MPI_Count * more; int [] codes; int [][3] ranges
MPI_Send\tint\tconst void * buf; int count; const int [] counts; int root; MPI_Comm * comm
MPI_Send_c\tint\tconst void * buf; MPI_Count count; const MPI_Count [] counts; int root; MPI_Comm * comm
MPI_Wait\tMPI_Comm\tvoid
'''
HEADER_LINES = [
    'typedef struct MPI_ABI_Comm *MPI_Comm;', 'typedef int64_t MPI_Count;', '    int MPI_internal[5];',
    'typedef void MPI_User_function_c(void *a, MPI_Count *b, ...);', '    MPI_SUCCESS = 0,', '    MPI_ERR_ARG = 13 ',
    '#define MPI_COMM_NULL ((MPI_Comm) 0x00000100)', '#define MPI_COMM_NONE MPI_COMM_NULL ', '(deprecated since MPI-2.0)',
    'int MPI_Op_create(MPI_User_function *fn, int codes[], int ranges[][3]);', 'MPI_Comm PMPI_Wait(void);',
    'int PMPI_Send_c(const void *buf, MPI_Count count, const MPI_Count counts[], int root, MPI_Comm *comm);',
]
ENTRIES = '''chapter 3: Messages
section pt2pt: Sending
MPI_Send large: Sends.
    buf: BUFFER[count datatype], count: COUNT, datatype: DATATYPE, dest: RANK_OR_NULL, tag: TAG, comm: COMM
MPI_Gather large: Gathers.
    sendbuf: BUFFER[sendcount sendtype] inplace, sendcount: COUNT, sendtype: DATATYPE,
    recvbuf: BUFFER[recvcounts displs recvtype] out root, recvcounts: COUNT[peers(comm)] root,
    displs: DISPLACEMENT[peers(comm)] root, recvtype: DATATYPE root, root: ROOT, comm: COMM
MPI_Size large anytime: How much.
    datatype: DATATYPE, info: INFO null, size: BYTES out
MPI_Free: Frees.
    request: REQUEST inout, statuses: STATUS[n] out null, n: LENGTH, kind: TOPOLOGY
MPI_Turn: Turns it into another.
    request: REQUEST inout, made: REQUEST out
MPI_Near large: Swaps.
    buf: BUFFER[count datatype] out from-neighbours, count: COUNT, datatype: DATATYPE, counts: COUNT[destinations(comm)], comm: COMM
MPI_Each large: Sends to each.
    comm: COMM, counts: COUNT[peers(comm)], types: DATATYPE[peers(comm)] counted-by=counts
MPI_Update large: Combines elsewhere.
    group: GROUP, buf: BUFFER[count datatype] unless-no-op, count: COUNT unless-no-op, datatype: DATATYPE unless-no-op,
    old: BUFFER[kind] out, kind: DATATYPE, op: RMA_OP, target: RANK of=win, win: WIN
MPI_Wtime returns=SECONDS: Tells the time.
MPI_Wait later: Waits.
    comm: COMM
'''
ENTRY_LINES = [
    'void Send(call &on, const void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm) {',
    'auto &comm_ = on.object(comm, "comm");', 'auto &datatype_ = on.object(datatype, "datatype");',
    'on.at_least(count, 0, "count", MPI_ERR_COUNT);', 'on.rank(dest, comm_.peers(), "dest", also::null);',
    'on.tag(tag, "tag", false);', 'on.committed(datatype_, "datatype");', 'on.data(buf, count, datatype_, "buf");',
    'impl::Send(on, buf, count, datatype_, dest, tag, comm_);',
    'return run("MPI_Send", false, false, [&](call &on) { Send(on, buf, count, datatype, dest, tag, comm); });',
    'return run("MPI_Send_c", true, false, [&](call &on) {', '__attribute__((weak, alias("PMPI_Send_c")));',
    'bool const at_root = on.at_root(root, comm_);', 'on.root(root, comm_, "root");',
    'datatype_object *const sendtype_ = has_part && sendbuf != MPI_IN_PLACE ? &on.object(sendtype, "sendtype") : nullptr;',
    'datatype_object *const recvtype_ = at_root ? &on.object(recvtype, "recvtype") : nullptr;',
    'bool const has_part = on.has_part(root, comm_);',
    'if (has_part && sendbuf != MPI_IN_PLACE) on.at_least(sendcount, 0, "sendcount", MPI_ERR_COUNT);',
    'on.each_at_least(recvcounts, comm_.peers(), 0, "recvcounts", MPI_ERR_COUNT);', 'numbers{recvcounts}',
    'auto *const info_ = on.object_or_null(info, MPI_INFO_NULL, "info");', 'run("MPI_Size", false, true, ',
    'on.not_null(size, "size"); MPI_Count wide_size = 0; Size(on, datatype, info, wide_size); *size = narrow(wide_size);',
    'if (comm_.sources() > 0) { on.committed(datatype_, "datatype"); on.data(buf, count, datatype_, "buf"); }',
    'on.each_at_least(counts, comm_.destinations(), 0, "counts", MPI_ERR_COUNT);', 'on.object(request, "request");',
    'on.not_null(request, "request"); if (!made) on.blame(*request); on.not_null(made, "made");', 'on.one_of(kind, kind_allowed,',
    'auto &win_ = on.object(win, "win"); auto &group_ = on.object(group, "group");', 'on.rank(target, win_.size(), "target",',
    'datatype_object *const datatype_ = op != MPI_NO_OP ? &on.object(datatype, "datatype") : nullptr;',
    'on.predefined(op_, "op");', 'on.data(old, 1, kind_, "old");',
    'if (op != MPI_NO_OP) { on.committed(*datatype_, "datatype"); on.data(buf, count, *datatype_, "buf"); }',
    'for (int i = 0; i < comm_.peers(); ++i)', 'if (counts[i] != 0 || types[i] != MPI_DATATYPE_NULL) on.nth(types, i, "types");',
    'return impl::Wtime();',
    'return run("MPI_Wait", false, false, [&](call &on) { on.object(comm, "comm"); on.not_supported(); });',
]
DECLARED_LINES = [
    'void Send(call &on, const void *buf, MPI_Count count, datatype_object &datatype, int dest, int tag, comm &comm);',
    'void Size(call &on, datatype_object &datatype, info_object *info, MPI_Count &size);', 'double Wtime();',
    'numbers recvcounts, numbers displs, datatype_object *recvtype, int root, comm &comm);',
]
# (what, which table, text that is replaced, by what, words of the sentence)
FAULTS = [
    ('an unknown kind', 'api', 'root: ROOT', 'root: ROTO', 'api:18: "ROTO" is no kind; the nearest is ROOT'),
    ('an unknown word', 'api', 'COMM inout', 'COMM inuot', 'api:19: "inuot" is no word here; the nearest is inout'),
    ('a word twice', 'api', 'COMM inout null', 'COMM null null', 'api:19: "null" stands here twice'),
    ('out and inout', 'api', 'COMM inout', 'COMM inout out', 'comm is both out and inout'),
    ('a length that is no parameter', 'api', 'BUFFER[count]', 'BUFFER[cuont]',
     'api:18: "cuont" is no parameter of MPI_Send; the nearest'),
    ('a way to tell a length', 'api', 'size(comm)', 'sise(comm)',
     '"sise" is no way to tell a length; the nearest is size'),
    ('a length of nothing', 'api', 'size(comm)', 'size(com)', '"com" is no parameter of MPI_Send'),
    ('data without a length', 'api', 'BUFFER[count]', 'BUFFER', 'buf: a BUFFER says in brackets how much it is'),
    ('a parameter twice', 'api', 'counts: COUNT', 'count: COUNT', 'api:17: MPI_Send has two parameters "count"'),
    ('a comma too few', 'api', 'of=comm,', 'of=comm', 'api:18: a comma is missing between this line and line 19'),
    ('a parameter in pieces', 'api', 'root: ROOT', 'root ROOT', 'api:18: "root ROOT of=comm" is no parameter'),
    ('a word of C++', 'api', 'more: COUNT', 'new: COUNT', 'api:21: "new" is a word of C++'),
    ('root without a ROOT', 'api', 'root: ROOT', 'root: COMM',
     'MPI_Send has arguments that count at the root only, and no ROOT'),
    ('null by value', 'api', 'count: COUNT,', 'count: COUNT null,', 'count: a COUNT by value cannot be null'),
    ('inplace of no data', 'api', 'COMM inout null', 'COMM inplace', 'comm: inplace is for data, not for COMM'),
    ('a rank of two things', 'api', 'codes: ERROR_CODE', 'a: COMM, b: COMM, c: ROOT, codes: ERROR_CODE',
     'api:21: c is a rank of a or b; say which: of='),
    ('a rank of nothing', 'api', ' of=comm', '', 'root is a rank of nothing; say which: of='),
    ('a rank of what is not there', 'api', 'of=comm', 'of=com', 'api:18: "com" is no parameter of MPI_Send'),
    ('no rank of something', 'api', 'count: COUNT,', 'count: COUNT of=comm,', 'count: of= is for ranks, not for COUNT'),
    ('counted by no array', 'api', 'counts: COUNT[size(comm)]', 'counts: COUNT[size(comm)] counted-by=root',
     'counts: counted-by= names an array of the same length'),
    ('committed of no datatype', 'api', 'count: COUNT,', 'count: COUNT committed,',
     'count: committed is for a DATATYPE, not for COUNT'),
    ('a callback forgotten', 'api', '=MPI_User_function', '', 'fn: FUNCTION takes the name of a callback'),
    ('a callback too many', 'api', 'ranges: RANGE', 'ranges: RANGE=MPI_User_function',
     'ranges: RANGE takes no callback'),
    ('an unknown callback', 'api', 'FUNCTION=MPI_User_function', 'FUNCTION=MPI_Usr_function',
     '"MPI_Usr_function" is no callback; the nearest'),
    ('no large twin', 'api', 'MPI_Send large', 'MPI_Send',
     'api:17: MPI_Send has a parameter with a large form, but no large twin'),
    ('a large twin of nothing', 'api', 'MPI_Wait ', 'MPI_Wait large ',
     'MPI_Wait has a large twin, but none of its parameters is wide'),
    ('a twin written down', 'api', 'MPI_Wait ', 'MPI_Send_c ',
     'api:22: MPI_Send_c is the large twin of MPI_Send; it is generated'),
    ('a large parameter of a small function', 'api', 'MPI_Op_create large', 'MPI_Op_create',
     'more is of the large form only, but MPI_Op_create has none'),
    ('a function twice', 'api', 'MPI_Wait', 'MPI_Send', 'api:22: MPI_Send is there twice; first in line 17'),
    ('no sentence', 'api', 'Waits.', '', 'MPI_Wait has no sentence'),
    ('an unknown return', 'api', 'returns=COMM', 'returns=COM', 'api:22: "COM" is no kind; the nearest is COMM'),
    ('a word without its value', 'api', 'returns=COMM', 'returns', '"returns": returns takes a value'),
    ('a word with a value', 'api', 'large: Sends', 'large=1: Sends', '"large=1": large takes no value'),
    ('a misspelt entry', 'api', 'section pt2pt', 'sektion pt2pt', '"sektion" is none of kind, chapter, section'),
    ('a function outside', 'api', 'section pt2pt: Sending\n', '', 'MPI_Send stands in no section'),
    ('a section outside', 'api', 'chapter 3: Messages\n', '', '"section pt2pt" stands in no chapter'),
    ('a chapter without a number', 'api', 'chapter 3', 'chapter three',
     'api:15: "chapter three": a chapter has a number'),
    ('a kind twice', 'api', 'kind ROOT', 'kind COMM', 'api:13: kind COMM is there twice'),
    ('a kind of an unknown type', 'api', 'c=MPI_Comm', 'c=MPI_Com',
     'kind COMM: "MPI_Com" is no type; the nearest is MPI_Comm'),
    ('a kind without a rule', 'api', '  allowed=root', '', 'kind ROOT does not say allowed='),
    ('an unknown rule', 'api', 'allowed=root', 'allowed=roto',
     'kind ROOT: "roto" is neither a rule nor a constant; the nearest is root'),
    ('a rule of an unknown group', 'api', 'in error_classes', 'in error_clases',
     '"error_clases" is no group of constants; the nearest'),
    ('an unknown error class', 'api', 'allowed=root  error=MPI_ERR_ARG', 'allowed=root  error=MPI_ERR_ARGH',
     '"MPI_ERR_ARGH" is no error class'),
    ('a misspelt column of a kind', 'api', 'fortran=', 'fotran=',
     'kind BUFFER: "fotran=TYPE(*), DIMENSION(..)" is none of'),
    ('a line under nothing', 'api', 'kind BUFFER: data\n', '', 'api:1: "c=const? void *@'),
    ('a tab', 'api', 'Waits.', 'Wai\tts.', 'api:22: has a tab'),
    ('a constant twice', 'constants', 'MPI_ERR_ARG 13', 'MPI_SUCCESS 13',
     'constants:12: MPI_SUCCESS is there twice; first in line 11'),
    ('a value that is none', 'constants', 'MPI_ERR_ARG 13', 'MPI_ERR_ARG 1x',
     'constants:12: MPI_ERR_ARG: "1x" is no integer'),
    ('another name of nothing', 'constants', 'MPI_COMM_NULL deprecated', 'MPI_COMM_NUL deprecated',
     'no constant above; the nearest is MPI_COMM_NULL'),
    ('a misspelt word', 'constants', 'deprecated=', 'depreciated=',
     '"depreciated=MPI-2.0" is no word here; the nearest is deprecated'),
    ('a constant without a text', 'constants', ': an argument', '', 'MPI_ERR_ARG has no text'),
    ('a name that is none', 'constants', 'MPI_ERR_ARG', 'ERR_ARG', '"ERR_ARG" is no name of a constant'),
    ('an unknown form', 'constants', 'comms MPI_Comm', 'comms MPI_Com',
     'constants:13: "MPI_Com" is no type; the nearest is MPI_Comm'),
    ('an unknown entry', 'constants', 'integer', 'number',
     '"number" is none of handle, integer, callback, status, group'),
    ('a type twice', 'constants', 'MPI_Count int64_t', 'MPI_Comm int64_t', 'constants:2: MPI_Comm is declared twice'),
    ('a field in pieces', 'constants', 'MPI_SOURCE int 0', 'MPI_SOURCE int',
     'constants:4: "MPI_SOURCE int" is no field'),
    ('a field elsewhere', 'constants', 'MPI_internal int 4', 'MPI_internal int 8',
     'constants:5: MPI_internal is at 8 here, but what stands before it ends at 4'),
    ('a field of another type', 'constants', 'MPI_SOURCE int', 'MPI_SOURCE long', '"long": a field of a status is an int'),
    ('a callback of an unknown type', 'constants', 'MPI_Count *b, ...', 'MPI_Cont *b, ...',
     'constants:8: "MPI_Cont" is no type; the nearest'),
    ('a callback without parameters', 'constants', '    void *a, MPI_Count *b\n', '',
     'a callback has its parameters below it'),
    ('an empty group', 'constants', '    MPI_SUCCESS 0: none\n    MPI_ERR_ARG 13: an argument\n', '',
     'group error_classes is empty'),
    ('a group twice', 'constants', 'group comms', 'group error_classes',
     'constants:13: group error_classes is there twice'),
]


def read(texts):
    constants = constants_table.Constants('constants', texts['constants'])
    return table.Api('api', texts['api'], constants), constants


def planted():
    """The sentences of faults that were not found, or found with other words."""
    for what, which, old, new, expected in FAULTS:
        texts = {'api': API, 'constants': CONSTANTS}
        if texts[which].count(old) < 1:
            yield f'{what}: "{old}" is not in the small table'
            continue
        texts[which] = texts[which].replace(old, new, 1)
        try:
            read(texts)
            yield f'{what}: not found'
        except reading.Faults as faults:
            if expected not in str(faults):
                yield f'{what}: expected "{expected}", got "{faults}"'


def small():
    """What the small tables must give."""
    api, constants = read({'api': API, 'constants': CONSTANTS})
    if (got := generate.prototypes(api, constants).partition('\n')[2]) != PROTOTYPES:
        yield f'prototypes of the small table: {got}'
    names = sorted(line.split('\t')[0] for line in PROTOTYPES.splitlines())
    if generate.names(api, constants).split() != sorted(names + ['P' + n for n in names]):
        yield 'names of the small table'
    constants.constants['MPI_VERSION'] = constants.constants['MPI_SUBVERSION'] = constants.constants['MPI_SUCCESS']
    constants.constants['MPI_ABI_VERSION'] = constants.constants['MPI_ABI_SUBVERSION'] = constants.constants['MPI_SUCCESS']
    text = header.text(api, constants)
    yield from (f'the small header lacks "{line}"' for line in HEADER_LINES if line not in text)
    long = 'int f(' + ', '.join(f'int argument_{i}' for i in range(30)) + ');'
    if max(map(len, declare.wrapped(long).split('\n'))) > 128 or re.sub(r'\n +', ' ', declare.wrapped(long)) != long:
        yield 'a long prototype is not wrapped as it should be'
    if declare.wrapped('int f(long_type *long_name, int b);', 26) != 'int f(\n    long_type *long_name,\n    int b);':
        yield 'a long first parameter is not wrapped as it should be'


def shapes():
    """Functions of every shape, with the kinds of the real table."""
    constants = constants_table.read(HERE / 'mpi_constants.tbl')
    kinds = (HERE / 'mpi_api.tbl').read_text().partition('\nchapter ')[0]
    return table.Api('entries', kinds + '\n' + ENTRIES, constants), constants


def checks():
    """What entry points must hold."""
    api, constants = shapes()
    text, declared = entries.chapter(api, constants, 3), entries.declarations(api, constants)
    for line in ENTRY_LINES:
        if ' '.join(line.split()) not in ' '.join(text.split()):
            yield f'the entry points lack "{line}"'
    for line in DECLARED_LINES:
        if line not in declared:
            yield f'the declarations lack "{line}"'
    if 'Wait(' in declared or 'void Wait(' in text:
        yield 'a function that is not there yet has checks or a declaration'
    unchecked = [line for line in entries.chapter(api, constants, 3, checks=False).splitlines() if 'not_supported' not in line]
    if found := re.search(r'on\.(?!known|blame|judged_by|at_root|has_part|takes_part)\w+\(', '\n'.join(unchecked)):
        yield f'entry points without checks have {found[0]}'
    if len(re.findall(r'alias', text)) != sum(len(f.forms()) for f in api.functions()):
        yield 'not every function has its PMPI_ name once'


def stale():
    """A page that is not current is found, with its first line that differs."""
    with tempfile.TemporaryDirectory() as folder:
        page = pathlib.Path(folder) / 'page.md'
        for there, wanted, expected in [('a\nb\n', 'a\nb\n', None), ('a\nc\n', 'a\nb\n', ':2: '), ('a\n', 'a\nb\n', ':2: ')]:
            page.write_text(there)
            found = generate.difference(page, wanted)
            if bool(found) != bool(expected) or (expected and expected not in found):
                yield f'a page of {there!r} where {wanted!r} should be: {found}'
        if 'does not exist' not in (generate.difference(pathlib.Path(folder) / 'none.md', 'a\n') or ''):
            yield 'a page that does not exist'


def written_parameter(p):
    words = [p.direction] * (p.direction != 'in')
    words += [w if p.words[w] is True else f'{w}={p.words[w]}' for w in table.PARAMETER_WORDS if w in p.words]
    kind = p.kind.name + ('=' + p.callback if p.callback else '') + (f'[{p.length}]' if p.length else '')
    return ' '.join([f'{p.name}: {kind}', *words])


def written(api):
    """The table's functions again, one line each."""
    for f in api.functions():
        words = ['large'] * f.large + ([f'returns={f.returns.name}'] if f.returns.name != 'ERROR_CODE' else [])
        words += ([f'deprecated={f.deprecated}'] if f.deprecated else []) + ['c-only'] * f.c_only
        words += ['later'] * f.later + ['anytime'] * f.anytime + ['quick'] * f.quick
        yield ' '.join([f.name, *words]) + ': ' + f.text + ' ' + ', '.join(written_parameter(p) for p in f.parameters)


def round_trip(api, _):
    """The real table, read and written, against its own lines."""
    lines = re.sub(r'\n {4}', ' ', (HERE / 'mpi_api.tbl').read_text()).splitlines()
    wanted = [re.sub(r' +$', '', line) for line in lines if line.startswith('MPI_')]
    got = [line.rstrip() for line in written(api)]
    if len(wanted) != len(got):
        yield f'{len(wanted)} functions in the table, {len(got)} read'
    yield from (f'read of the table: {b}\n       but it says: {a}' for a, b in zip(wanted, got) if a != b)


def main():
    real = generate.read(HERE / 'mpi_api.tbl', HERE / 'mpi_constants.tbl')
    wrong = [*planted(), *small(), *checks(), *stale(), *round_trip(*real), *test_reference.wrong(shapes(), real)]
    print('\n'.join(wrong) or f'{len(FAULTS)} planted faults, all found; the table comes back as it was')
    sys.exit(bool(wrong))


if __name__ == '__main__':
    main()
