"""shmem.h and pshmem.h, from the table."""
import re

import declare
import families

STRICT = '''#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wlong-long" /* which C89 and C++98 do not have, and all their compilers */
'''
END = '''
#pragma GCC diagnostic pop

#endif
'''
HEAD = '''/* shmem.h - OpenSHMEM 1.6, with what older versions had and Cray's extensions (shmemx_)

   Generated from bindings/c/shmem/shmem_api.tbl: types, constants, and functions by section of the specification; then, for C11,
   macros that choose by the type of an argument, and for C++ overloads. pshmem.h declares the pshmem_ twins, through which a
   profiling tool reaches what it replaces. */
#ifndef SHMEM_H
#define SHMEM_H

#include <stddef.h>
#include <stdint.h>

''' + STRICT + '''
#ifdef __cplusplus
extern "C++" { /* for programs that include this in an extern "C" of their own */
#include <complex>
}
extern "C" {
#define MPT_SHMEM_NORETURN __attribute__((noreturn))
#elif defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L
#define MPT_SHMEM_NORETURN _Noreturn
#else
#define MPT_SHMEM_NORETURN __attribute__((noreturn))
#endif

/* Contexts and teams: what only the library follows */
typedef struct mpt_shmem_ctx *shmem_ctx_t;
typedef struct mpt_shmem_team *shmem_team_t;
typedef struct { int num_contexts; } shmem_team_config_t;
typedef struct { size_t total_ops; } shmem_ctx_session_config_t;
__extension__ typedef double _Complex mpt_complexd;
__extension__ typedef float _Complex mpt_complexf;
'''
C11 = '''
#if !defined(__cplusplus) && defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L

/* C11: a name for all types. A macro with as many arguments more as a context is takes the twin with a context. */
#define MPT_SHMEM_SYNC_(a, b, c, d, name, ...) name
#define shmem_sync(...) MPT_SHMEM_SYNC_(__VA_ARGS__, shmem_sync, , , shmem_team_sync, )(__VA_ARGS__)
'''
CPP = '''
#endif

#ifdef __cplusplus
extern "C++" {

/* C++: overloads in place of the macros, std::complex beside C's complex numbers, and memory that others write as volatile. */
template <class T> struct mpt_shmem_watched {
    T *plain;
    mpt_shmem_watched(volatile T *p) : plain(const_cast<T *>(p)) {} /* by a conversion, so that T * comes first, and null is one */
};
inline int shmem_sync(shmem_team_t team) { return shmem_team_sync(team); }
'''
COMPLEX = {'mpt_complexd': 'std::complex<double>', 'mpt_complexf': 'std::complex<float>'}
PSHMEM = '''/* pshmem.h - the names by which a profiling tool reaches what it replaces. Generated from bindings/c/shmem/shmem_api.tbl. */
#ifndef PSHMEM_H
#define PSHMEM_H

#include "shmem.h"

''' + STRICT + '''
#ifdef __cplusplus
extern "C" {
#endif
'''


def constant_lines(api):
    for title, old, constants in api.constants:
        yield f'\n/* {title} */'
        for name, value in constants:
            yield f'#define {name} {value}'
        for name, _ in constants if old else ():
            yield f'#define _{name} {name}'


def prototype(function, prefix=''):
    before = 'MPT_SHMEM_NORETURN ' * ('noreturn' in function.family.words)
    return declare.wrapped(before + function.prototype(prefix) + ';')


def prototype_lines(api):
    section = None
    for family in api.there():
        if family.section != section:
            section = family.section
            yield f'\n/* {section} */'
        old = ' (deprecated)' if 'deprecated' in family.words else ''
        yield f'/* {family.text}{old} */'
        yield from (prototype(f) for f in family.functions())


def element_parameter(function):
    """The place of the first pointer to elements: the one whose type counts."""
    return next(n for n, p in enumerate(function.parameters()) if re.search(r'\bT \*', p.kind.c))


def generics(api):
    """Families with a name for all types, or for both forms with and without a context; a name may have several."""
    return [f for f in api.there() if f.generic()]


def named_together(api):
    """The families of each generic name: more than one where types came or went with a version."""
    together = {}
    for family in generics(api):
        together.setdefault(family.generic(), []).append(family)
    return list(together.values())


def list_name(together):
    return '_'.join(family.words['types'] for family in together)


def distinct(together, ctx=False):
    """The functions of the types that C tells apart: of several for one type, in whichever family, the first."""
    found = {}
    for family in together:
        for f in family.distinct(ctx):
            found.setdefault(families.same_type(f.element), f)
    return list(found.values())


def list_macros(api):
    """For each list of types, or lists that share a name, a choice by what a pointer points to."""
    lists = {list_name(together): together for together in named_together(api) if 'types' in together[0].words}
    for name, together in lists.items():
        cases = ', '.join(f'{f.element}: a##{f.type_name}##b' for f in distinct(together))
        yield wrapped_macro(f'#define MPT_SHMEM_OF_{name}(p, a, b) _Generic(*(p), {cases})')


def wrapped_macro(line):
    return declare.wrapped(line, 126).replace('\n', ' \\\n')


def chosen(together, ctx, arguments):
    """The expression that names the function for these arguments."""
    family = together[0]
    function = (family.typed(ctx) or family.functions())[0]
    if 'types' not in family.words:
        return function.name
    before, after = family.name.replace('shmem_', 'shmem_ctx_', 1 if ctx else 0).split('@') if ctx else family.name.split('@')
    return f'MPT_SHMEM_OF_{list_name(together)}({arguments[element_parameter(function)]}, {before}, {after})'


def macro_lines(together):
    family = together[0]
    arguments = [p.name for p in family.parameters]
    name, inside = family.generic(), ', '.join(arguments)
    if 'ctx' not in family.words:
        passed = ', '.join(f'(void *)(uintptr_t)({p.name})' if p.kind.watched else p.name for p in family.parameters)
        yield wrapped_macro(f'#define {name}({inside}) {chosen(together, False, arguments)}({passed})')
        return
    if 'types' in family.words:
        yield wrapped_macro(f'#define MPT_{name}({inside}) {chosen(together, False, arguments)}({inside})')
        yield wrapped_macro(f'#define MPT_CTX_{name}(ctx, {inside}) {chosen(together, True, ["ctx"] + arguments)}(ctx, {inside})')
        plain, with_ctx = f'MPT_{name}', f'MPT_CTX_{name}'
    else:
        plain, with_ctx = chosen(together, False, arguments), chosen(together, True, arguments)
    yield wrapped_macro(f'#define {name}(...) MPT_SHMEM_PICK_{len(arguments)}(__VA_ARGS__, {with_ctx}, {plain}, )(__VA_ARGS__)')


def c11_lines(api):
    counts = sorted({len(f.parameters) for f in generics(api) if 'ctx' in f.words})
    for n in counts:
        letters = ', '.join('abcdefghijklm'[:n + 1])
        yield f'#define MPT_SHMEM_PICK_{n}({letters}, name, ...) name'
    yield from list_macros(api)
    for together in named_together(api):
        yield from macro_lines(together)


def overload(name, function, types=None):
    """An inline function of C++ that calls one of C; `types` changes element types."""
    declared = [(re.sub(r'\bmpt_complex\w\b', lambda m: (types or {}).get(m[0], m[0]), t), n) for t, n in function.declared()]
    passed = [f'reinterpret_cast<{was}>({n})' if was != t else n for (t, n), (was, _) in zip(declared, function.declared())]
    inside = ', '.join(families.joined(*pair) for pair in declared)
    back = '' if function.returns() == 'void' else 'return '
    return declare.wrapped(f'inline {families.joined(function.returns(), name)}({inside}) {{ {back}{function.name}({", ".join(passed)}); }}')


def takes_volatile(function):
    return any(p.kind.watched for p in function.parameters())


def watched(type_, kind):
    return f'mpt_shmem_watched<{type_.removesuffix(" *")}>' if kind.watched else type_


def volatile_overload(name, function):
    """An inline function of C++ that calls one of C, and whose watched memory is volatile."""
    parameters = [(p, *pair) for p, pair in zip(function.parameters(), function.declared())]
    inside = ', '.join(families.joined(watched(type_, p.kind), n) for p, type_, n in parameters)
    passed = ', '.join(n + '.plain' * p.kind.watched for p, _, n in parameters)
    back = '' if function.returns() == 'void' else 'return '
    return declare.wrapped(f'inline {families.joined(function.returns(), name)}({inside}) {{ {back}{function.name}({passed}); }}')


def volatile_lines(api):
    """For the functions of C by their own names, and for the names of all types; a name that is both has one for a type."""
    own = {f.name: f for f in api.functions() if takes_volatile(f)}
    for name, f in own.items():
        yield volatile_overload(name, f)
    for together in named_together(api):
        for f in filter(takes_volatile, distinct(together)):
            name = together[0].generic()
            if name not in own or own[name].declared() != f.declared():
                yield volatile_overload(name, f)


def cpp_lines(api):
    c_names = {f.name: [t for t, _ in f.declared()] for f in api.functions()}
    for together in named_together(api):
        name = together[0].generic()
        for ctx in [False] + [True] * ('ctx' in together[0].words):
            for f in distinct(together, ctx):
                if c_names.get(name) != [t for t, _ in f.declared()]:
                    yield overload(name, f)
                if f.element in COMPLEX:
                    yield overload(name, f, COMPLEX)
    for f in api.functions():
        if f.element in COMPLEX:
            yield overload(f.name, f, COMPLEX)
    yield from volatile_lines(api)


def text(api):
    lines = [*constant_lines(api), *prototype_lines(api)]
    return (HEAD + '\n'.join(lines) + '\n\n#ifdef __cplusplus\n}\n#endif\n' + C11 + '\n'.join(c11_lines(api)) + '\n' + CPP +
            '\n'.join(cpp_lines(api)) + '\n}\n#endif\n' + END)


def profiling(api):
    lines = [prototype(f, 'p') for f in api.functions()]
    return PSHMEM + '\n' + '\n'.join(lines) + '\n\n#ifdef __cplusplus\n}\n#endif\n' + END
