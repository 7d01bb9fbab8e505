"""The faults that check_abi.py plants in itself: in small tables, from which a small header is generated, against small facts.
Each must be found by the text, and where the compiler can see it, by the compiler too."""
import pathlib
import tempfile

import check_abi
import generate
import header
import lint

API = 'bindings/c/mpi_api.tbl'
CONSTANTS = 'bindings/c/mpi_constants.tbl'
KINDS = 'test/data/abi/mpi5_kinds.tsv'
GOOD = {
    'test/data/abi/mpi5_functions.tsv': 'name\treturn\tparameters\tgroup\tchapter\tflags\n'
        'MPI_Send\tint\tconst void * buf; int count; const int [] counts; MPI_Comm comm\tpt2pt\t3\t\n'
        'MPI_Send_c\tint\tconst void * buf; MPI_Count count; const MPI_Count [] counts; MPI_Comm comm\tpt2pt\t3\tlarge_count\n'
        'MPI_Op_create\tint\tMPI_User_function * fn; int * op\top\t6\t\n'
        'MPI_Tick\tdouble\tvoid\tenv\t9\t\n',
    KINDS: 'name\treturn_kind\tlarge_count_variant\tparams\n'
        'MPI_Send\tERROR_CODE\tMPI_Send_c\t'
        'buf:BUFFER:const ; count:NUM ; counts:NUM:const:array=count:async ; comm:COMMUNICATOR\n'
        'MPI_Op_create\tERROR_CODE\t\tfn:FUNCTION:func=MPI_User_function ; op:ERROR_CODE:out\n'
        'MPI_Tick\tWALL_TIME\t\t\n',
    'test/data/abi/mpi5_constants.tsv': 'name\tvalue\thex\ttype\tgroup\tnote\n'
        'MPI_VERSION\t5\t\tint\tv\t\nMPI_SUBVERSION\t0\t\tint\tv\t\n'
        'MPI_ABI_VERSION\t1\t\tint\tv\t\nMPI_ABI_SUBVERSION\t0\t\tint\tv\t\n'
        'MPI_ERR_ARG\t13\t\tint (enum)\te\t\nMPI_COMM_SELF\t258\t\tMPI_Comm\tc\t\n'
        'MPI_INT\t521\t\tMPI_Datatype\tpredefined_datatypes\t\nMPI_INTEGRAL\t521\t\tint\tpredefined_datatypes\t\n'
        'MPI_CURRENT\t-1\t\tMPI_Offset\td\t\nMPI_NO_FN\t1\t\tMPI_User_function*\tf\t\n',
    'test/data/abi/mpi4py_abi_symbols.txt': '# two\nMPI_Send_c\nMPI_Tick\n',
    'test/data/abi/kinds_of_ours.tsv': 'kind\tfacts\nBUFFER\tBUFFER\nCOUNT\tNUM\nCOMM\tCOMMUNICATOR\nERROR_CODE\tERROR_CODE\n'
        'FUNCTION\tFUNCTION\nSECONDS\tWALL_TIME\n',
    CONSTANTS: 'handle MPI_Comm MPI_ABI_Comm: a\nhandle MPI_Datatype MPI_ABI_Datatype: b\ninteger MPI_Aint intptr_t: c\n'
        'integer MPI_Offset int64_t: d\ninteger MPI_Count int64_t: e\nstatus MPI_Status: f\n    MPI_SOURCE int 0: a\n'
        '    MPI_TAG int 4: b\n    MPI_ERROR int 8: c\n    MPI_internal int 12 elements=5: d\n'
        'callback MPI_User_function int: g\n    void *a, int b\n'
        'group v macro: V\n    MPI_VERSION 5: a\n    MPI_SUBVERSION 0: b\n'
        '    MPI_ABI_VERSION 1: c\n    MPI_ABI_SUBVERSION 0: d\n'
        'group e enum: E\n    MPI_ERR_ARG 13: a\ngroup c MPI_Comm: C\n    MPI_COMM_SELF 258: a\n'
        'group t MPI_Datatype: T\n    MPI_INT 521: a\n    MPI_INTEGRAL MPI_INT: b\n'
        'group d MPI_Offset: D\n    MPI_CURRENT -1: a\ngroup f MPI_User_function*: F\n    MPI_NO_FN 1: a\n',
    API: 'kind BUFFER: data\n    c=const? void *@  allowed=buffer  error=MPI_ERR_ARG\n'
        'kind COUNT: how many\n    c=int  large=MPI_Count  allowed=>=0  error=MPI_ERR_ARG\n'
        'kind COMM: a communicator\n    c=MPI_Comm  allowed=handle  error=MPI_ERR_ARG\n'
        'kind ERROR_CODE: a code\n    c=int  allowed=any  error=MPI_ERR_ARG\n'
        'kind FUNCTION: a function\n    c=callback *@  allowed=any  error=MPI_ERR_ARG\n'
        'kind SECONDS: a time\n    c=double  allowed=any  error=MPI_ERR_ARG\n'
        'chapter 3: Messages\nsection pt2pt: Sending\nMPI_Send large: Sends.\n'
        '    buf: BUFFER[count], count: COUNT, counts: COUNT[count] async, comm: COMM\n'
        'MPI_Op_create: Makes.\n    fn: FUNCTION=MPI_User_function, op: ERROR_CODE out\n'
        'MPI_Tick returns=SECONDS: Ticks.\n',
}
# (what, file, old, new, words of the text's sentence, words of the compiler's, or None where it cannot see it)
FAULTS = [
    ('another small type', API, 'c=int  large', 'c=MPI_Aint  large',
     'MPI_Send, parameter 2: is "MPI_Aint count"', 'MPI_Send'),
    ('another large type', API, 'large=MPI_Count', 'large=MPI_Comm',
     'MPI_Send_c, parameter 2: is "MPI_Comm count"', 'MPI_Send_c'),
    ('const lost', API, 'const? void', 'void', 'MPI_Send, parameter 1: is "void * buf"', 'MPI_Send'),
    ('a value for a pointer', API, 'ERROR_CODE out', 'ERROR_CODE',
     'MPI_Op_create, parameter 2: is "int op"', 'MPI_Op_create'),
    ('another name of a parameter', API, 'comm: COMM', 'com: COMM', 'parameter 4: is "MPI_Comm com"', None),
    ('a parameter too few', API, ', comm: COMM', '', 'MPI_Send has 3 parameters, not 4', 'MPI_Send'),
    ('another return', API, 'returns=SECONDS', '', 'MPI_Tick returns int, not double', 'MPI_Tick'),
    ('a function too few', API, 'MPI_Tick returns=SECONDS: Ticks.\n', '', 'PMPI_Tick is not declared', 'MPI_Tick'),
    ('one that mpi4py needs', API, 'MPI_Tick returns', 'MPI_Tock returns',
     'MPI_Tick is not declared, and mpi4py needs it', 'MPI_Tick'),
    ('a function too many', API, 'MPI_Tick ret', 'MPI_More: Is not.\nMPI_Tick ret',
     'MPI_More is declared, but is no function', None),
    ('another value', CONSTANTS, 'ERR_ARG 13', 'ERR_ARG 14',
     'MPI_ERR_ARG is 14 of int(enum), not 13', 'MPI_ERR_ARG is not 13'),
    ('another value of a macro', CONSTANTS, 'MPI_VERSION 5', 'MPI_VERSION 4',
     'MPI_VERSION is 4 of int', 'for the preprocessor'),
    ('another value of a handle', CONSTANTS, 'SELF 258', 'SELF 257', 'MPI_COMM_SELF is 257', 'MPI_COMM_SELF'),
    ('another value of a function', CONSTANTS, 'NO_FN 1', 'NO_FN 2', 'MPI_NO_FN is 2', 'MPI_NO_FN'),
    ('another value below zero', CONSTANTS, 'CURRENT -1', 'CURRENT -2', 'MPI_CURRENT is -2', 'MPI_CURRENT'),
    ('a handle of another type', CONSTANTS, 'c MPI_Comm', 'c MPI_Datatype',
     'is 258 of MPI_Datatype, not 258 of MPI_Comm', 'MPI_Datatype'),
    ('an enumerator for a macro', CONSTANTS, 'v macro', 'v enum',
     'MPI_VERSION is 5 of int(enum), not 5 of int', 'for the preprocessor'),
    ('another name of another', CONSTANTS, 'RAL MPI_INT:', 'RAL 522:', 'MPI_INTEGRAL is 522', 'MPI_INTEGRAL'),
    ('a constant too few', CONSTANTS, '    MPI_INTEGRAL MPI_INT: b\n', '', 'MPI_INTEGRAL is not defined', 'MPI_INTEGRAL'),
    ('a constant too many', CONSTANTS, 'MPI_CURRENT -1: a', 'MPI_CURRENT -1: a\n    MPI_X 1: b',
     'MPI_X is defined, but is no', None),
    ('a status too short', CONSTANTS, 'elements=5', 'elements=4', None, 'MPI_Status is not 32 bytes'),
    ('a field elsewhere', CONSTANTS, 'MPI_TAG int 4: b\n    MPI_ERROR', 'MPI_ERROR int 4: b\n    MPI_TAG', None,
     'MPI_Status.MPI_TAG is not at 4'),
    ('an integer of another size', CONSTANTS, 'MPI_Offset int64_t', 'MPI_Offset int', None, 'MPI_Offset has another size'),
    ('another kind', KINDS, 'count:NUM', 'count:TAG', 'MPI_Send, count: is COUNT, which is no TAG', None),
    ('another direction', KINDS, 'ERROR_CODE:out', 'ERROR_CODE:inout', 'op: is out, not inout', None),
    ('another length', KINDS, 'array=count', 'array=n', 'counts: has the length [count], not [n]', None),
    ('a word too few', API, ' async', '', 'MPI_Send, counts: lacks the word async', None),
    ('a word too many', API, 'comm: COMM', 'comm: COMM async', 'MPI_Send, comm: has the word async', None),
    ('another callback', KINDS, 'func=MPI_User', 'func=MPI_Usr', 'is a MPI_User_function, not a MPI_Usr', None),
    ('a twin too many', KINDS, '\tMPI_Send_c\t', '\t\t', 'MPI_Send: the table has a large twin', None),
    ('a return of another kind', KINDS, 'WALL_TIME', 'TICKS', 'MPI_Tick returns SECONDS, which is no TICKS', None),
    ('a function that the table lacks', KINDS, 'MPI_Tick', 'MPI_Tack', 'MPI_Tack is not in the table', None),
]


def findings(files):
    """(what the text says, what the compilers say) of a tree."""
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        lint.write_tree(root, files)
        text = header.text(*generate.read(root / API, root / CONSTANTS))
        (root / 'mpi.h').write_text(text)
        said, _ = check_abi.check(root, root / 'mpi.h', [])
        chosen = [c for c in check_abi.compilers() if c[2] in ('c99', 'c++11')]
        compiled = [e for e in check_abi.check_compiled(check_abi.Facts(root), text, chosen) if e]
        return said, compiled, len(chosen)


def verdict(what, file, old, new, text, compiled):
    if old not in GOOD[file]:
        return f'{what}: "{old}" is not in the small {file}'
    said, complaints, chosen = findings({**GOOD, file: GOOD[file].replace(old, new, 1)})
    if text and not any(text in e for e in said):
        return f'{what}: expected "{text}", got {said or "nothing"}'
    if compiled and chosen and not any(compiled in e for e in complaints):
        return f'{what}: expected "{compiled}" of a compiler, got {complaints or "nothing"}'
    return None


def self_test():
    said, complaints, chosen = findings(GOOD)
    wrong = [f'the tables without a fault: {e}' for e in said + complaints]
    wrong += [v for fault in FAULTS if (v := verdict(*fault))]
    print('\n'.join(wrong) or f'{len(FAULTS)} planted faults, all found: by the text, by {chosen} compilers, or by both')
    return bool(wrong)
