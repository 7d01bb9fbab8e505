"""mpi.h of the standard ABI, from the tables."""
import declare

ESSAY = '''/* mpi.h - MPI {version}, by the standard's binary interface {abi}

   Generated from bindings/c/mpi_api.tbl and mpi_constants.tbl: types, constants, functions by chapter of the standard, and
   their PMPI_ twins, through which a profiling tool reaches what it replaces. A function whose name ends with _c has wide
   counts. */
'''
OPEN = '''#ifndef MPI_H
#define MPI_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
'''
CLOSE = '''
#ifdef __cplusplus
}
#endif

#endif
'''


def title(text):
    return f'\n/* {text} */'


def remark(text, column, line):
    return f'{line.ljust(column)} /* {text} */' if text else line


def what(constant):
    """What is said of a constant: its text, what a datatype stands for, since when it is deprecated."""
    stands = constant.c or (f'Fortran: {constant.fortran}' if constant.fortran else '')
    old = f'(deprecated since {constant.deprecated})' if constant.deprecated else ''
    return ' '.join(x for x in (constant.text or stands, old) if x)


def handles(constants):
    out = [title('Handles: pointers that only the library follows')]
    out += [remark(t.text, 72, f'typedef struct {t.of} *{t.name};') for t in constants.of_sort('handle')]
    out += [title('Integers')]
    return out + [remark(t.text, 32, f'typedef {t.of} {t.name};') for t in constants.of_sort('integer')]


def status(constants):
    fields = [(f.type + ' ' + f.name + (f'[{f.elements}]' if f.elements > 1 else '') + ';', f.text) for f in constants.fields]
    lines = [remark(text, 28, '    ' + field) for field, text in fields]
    return [title('The status of an operation'), f'typedef struct {constants.status} {{', *lines, f'}} {constants.status};']


def callback(type_):
    line = declare.wrapped(f'typedef {type_.of} {type_.name}({type_.parameters});')
    return f'/* {type_.text[0].upper()}{type_.text[1:]}. */\n{line}'


def enumeration(group):
    width = max(len(c.name) for c in group.constants) + 14
    lines = [f'    {c.name} = {c.value}' + ',' * (c is not group.constants[-1]) for c in group.constants]
    lines = [remark(what(c), width, line) for c, line in zip(group.constants, lines)]
    head, tail = (f'typedef enum {group.enum} {{', f'}} {group.enum};') if group.enum else ('enum {', '};')
    return [title(group.title), head, *lines, tail]


def value(group, constant):
    """What a macro stands for."""
    if constant.alias:
        return constant.alias
    if group.form == 'macro':
        return str(constant.value)
    type_ = group.form.replace('*', ' *', 1)
    return f'(({type_}) {constant.value if constant.value < 0 else f"0x{constant.value:08x}"})'


def macros(group):
    lines = [(c, f'#define {c.name} {value(group, c)}') for c in group.constants]
    width = max(len(line) for _, line in lines)
    return [title(group.title)] + [remark(what(c), width, line) for c, line in lines]


def group_lines(group):
    return enumeration(group) if group.form == 'enum' else macros(group)


def constant_lines(constants):
    """Everything but the functions. Enumerations with a name stand before the callbacks that use them."""
    out = handles(constants) + status(constants)
    named = [g for g in constants.of_sort('group') if g.enum]
    for group in named:
        out += enumeration(group)
    out += [title('Functions of the user')] + [callback(t) for t in constants.of_sort('callback')]
    for group in constants.of_sort('group'):
        if not group.enum:
            out += group_lines(group)
    return out


def function_lines(function, constants, prefix=''):
    returns = declare.spaced(function.returns.c)
    lines = [declare.wrapped(declare.prototype(returns, form, constants, prefix)) for form in function.forms()]
    if prefix:
        return lines
    old = f' (deprecated since {function.deprecated})' if function.deprecated else ''
    return [f'/* {function.text}{old} */', *lines]


def chapter_lines(api, constants, prefix=''):
    out = []
    for chapter in api.chapters:
        for section in chapter.sections:
            name = f'Chapter {chapter.number}, {chapter.title}: {section.title}' if section.title != chapter.title else \
                f'Chapter {chapter.number}, {chapter.title}'
            out.append(title(prefix + name))
            for function in section.functions:
                out += function_lines(function, constants, 'P' if prefix else '')
    return out


def text(api, constants):
    known = constants.constants
    version = f'{known["MPI_VERSION"].value}.{known["MPI_SUBVERSION"].value}'
    abi = f'{known["MPI_ABI_VERSION"].value}.{known["MPI_ABI_SUBVERSION"].value}'
    lines = constant_lines(constants) + chapter_lines(api, constants) + chapter_lines(api, constants, 'PMPI: ')
    return ESSAY.format(version=version, abi=abi) + OPEN + '\n'.join(lines) + '\n' + CLOSE
