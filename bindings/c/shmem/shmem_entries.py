"""The entry points of OpenSHMEM's interface: each with its checks in a debug build, what it does, and its pshmem_ name."""
import re

import declare
import families

HEAD = '''// Generated from bindings/c/shmem/shmem_api.tbl.
#include "bodies.hpp"

#pragma GCC diagnostic ignored "-Wunused-parameter" // work arrays, and numbers that count for nobody
// NOLINTBEGIN
namespace mpt::c::shmem {
extern "C" {
'''
TAIL = '''} // extern "C"
} // namespace mpt::c::shmem
// NOLINTEND
'''


def bytes_of(function, parameter):
    """How many bytes an argument must have, as an expression of the arguments."""
    width = function.width if re.search(r'\bT\b', parameter.kind.c) else f'sizeof(*{parameter.name})'
    return f'bytes({parameter.length}, {width})'


FIRST = ('context', 'context_or_none', 'team', 'active_set')  # what others are counted by


def check(function, p):
    """What a debug build asks of one argument."""
    context = 'ctx' if function.ctx else 'SHMEM_CTX_DEFAULT'
    name, active_set = f'"{p.name}"', f'set{{{", ".join(families.SET)}}}'
    return {
        'symmetric': lambda: f'.symmetric({p.name}, {bytes_of(function, p)}, {name})',
        'ours': lambda: f'.symmetric({p.name}, {bytes_of(function, p)}, {name})',
        'cell': lambda: f'.symmetric({p.name}, {bytes_of(function, p)}, {name}).aligned({p.name}, sizeof *{p.name}, {name})',
        'given': lambda: f'.given({p.name}, {bytes_of(function, p)}, {name})',
        'pe': lambda: f'.pe({context}, {p.name}, {name})',
        'pes': lambda: f'.pes({context}, {p.name}, {p.length}, {name})',
        'root': lambda: f'.root(team, {p.name}, {name})',
        'set_root': lambda: f'.root({active_set}, {p.name}, {name})',
        'active_set': lambda: f'.active_set({active_set})',
        'context': lambda: f'.context({p.name}, {name})',
        'context_or_none': lambda: f'.context_or_none({p.name}, {name})',
        'any_context': lambda: f'.any_context({p.name}, {name})',
        'old_context': lambda: f'.old_context({p.name}, {name})',
        'team': lambda: f'.team({p.name}, {name})',
        'team_or_none': lambda: f'.team_or_none({p.name}, {name})',
        'old_team': lambda: f'.old_team({p.name}, {name})',
        'signal_op': lambda: f'.signal_op({p.name}, {name})',
        'comparison': lambda: f'.comparison({p.name}, {name})',
        None: lambda: '',
    }[p.kind.check]()


def apart(function):
    """The check that dest and source do not overlap, where that would matter."""
    words = function.family.words
    if 'apart' not in words:
        return ''
    by_name = {p.name: p for p in function.parameters()}
    dest, source = by_name['dest'], by_name['source']
    sides = f'dest, {bytes_of(function, dest)}, source, {bytes_of(function, source)}'
    if 'pe' not in by_name:
        return f'.apart({sides}, {"true" if words["apart"] == "may" else "false"})'
    return f'.apart_at({"ctx" if function.ctx else "SHMEM_CTX_DEFAULT"}, pe, {sides})'


WORKED_IN = ('SET_SYNC', 'SET_WORK')


def work_apart(function):
    """The check that an active set's arrays overlap neither each other nor dest and source."""
    known = {p.name: p for p in function.parameters()}
    arrays = [p for p in known.values() if p.kind.name in WORKED_IN]
    others = [known[name] for name in ('dest', 'source') if name in known]
    pairs = [(a, o) for a in arrays for o in others] + ([tuple(arrays)] if len(arrays) == 2 else [])
    run = lambda p: f'{p.name}, {bytes_of(function, p)}, "{p.name}"'
    return ''.join(f'.disjoint({run(a)}, {run(b)})' for a, b in pairs)


def checks(function):
    if 'anytime' in function.family.words:
        return f'    if constexpr (checked) name_call("{function.name}");'
    in_order = sorted(function.parameters(), key=lambda p: p.kind.check not in FIRST)
    asked = ''.join(check(function, p) for p in in_order) + apart(function) + work_apart(function)
    return f'    if constexpr (checked) asking{{"{function.name}"}}{asked};'


def use(function):
    return f'    [[maybe_unused]] in_context const use{{"{function.name}", ctx}};' if function.ctx else ''


def body(function):
    own = function.ctx or any(p.name == 'ctx' for p in function.family.parameters)
    text = function.family.body if own else re.sub(r'\bctx\b', 'SHMEM_CTX_DEFAULT', function.family.body)
    text = re.sub(r'\bwidth\b', function.width, text)
    text = re.sub(r'\bT\b', function.element, text)
    return f'    {"" if function.returns() == "void" else "return "}{text};'


def entry(function):
    """The function under its pshmem_ name, and the weak other name."""
    lines = [declare.wrapped(function.prototype('p') + ' {'), declare.wrapped(checks(function)), use(function),
             declare.wrapped(body(function)), '}', declare.wrapped(f'{function.prototype()} __attribute__((weak, alias("p{function.name}")));')]
    return '\n'.join(line for line in lines if line)


def text(functions):
    return HEAD + '\n'.join(map(entry, functions)) + '\n' + TAIL
