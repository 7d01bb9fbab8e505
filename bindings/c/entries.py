"""The entry points of the C interface: for each function its checks, its small form and its large one, and their PMPI_ names."""
import declare

HEAD = '''// Generated from bindings/c/mpi_api.tbl: chapter {number}, {title}.
#include "call.hpp"
#include "comm.hpp"
#include "entries.hpp"
#include "quick.hpp"
#include "win.hpp"

#pragma GCC diagnostic ignored "-Wunused-parameter" // of functions that are not supported yet

namespace {{

using namespace mpt::c;
'''
DECLARED = '''/// entries - what a chapter of the C interface implements: called with checked arguments, objects in place of handles, and the
/// wide types of the large form. Generated from bindings/c/mpi_api.tbl.
#pragma once
#include "call.hpp"

namespace mpt::c::impl {
'''
OBJECTS = {'COMM': 'comm', 'DATATYPE': 'datatype_object', 'GROUP': 'group_object', 'OP': 'operation_object',
           'ERRHANDLER': 'errhandler', 'INFO': 'info_object', 'SESSION': 'session', 'WIN': 'win', 'RMA_OP': 'operation_object'}
HANDLES = {**OBJECTS, 'REQUEST': 'request', 'MESSAGE': 'message'}
NULLS = {'COMM': 'MPI_COMM_NULL', 'DATATYPE': 'MPI_DATATYPE_NULL', 'GROUP': 'MPI_GROUP_NULL', 'OP': 'MPI_OP_NULL',
         'ERRHANDLER': 'MPI_ERRHANDLER_NULL', 'INFO': 'MPI_INFO_NULL', 'REQUEST': 'MPI_REQUEST_NULL',
         'MESSAGE': 'MPI_MESSAGE_NULL', 'SESSION': 'MPI_SESSION_NULL', 'WIN': 'MPI_WIN_NULL'}
BLAMED = ('COMM', 'SESSION', 'WIN')     # kinds of objects that have an error handler
BELONGING = ('GROUP', 'REQUEST', 'MESSAGE') # and of those that belong to one that has
NUMBERS = ('int', 'MPI_Count', 'MPI_Aint')


class Entry:
    """One function of the table, with the code that its entry points are made of."""

    def __init__(self, function, constants, checks=True):
        self.f, self.constants = function, constants
        self.name = function.name.removeprefix('MPI_')
        self.params = [p for p in function.parameters if p.kind.c != '...']
        self.by_name = {p.name: p for p in self.params}
        self.checks = checks or self.is_tools() # what the tools' interface says of an argument, programs ask for

    def is_tools(self):
        """Whether it belongs to the tools' interface, whose errors call no handler."""
        return self.name.startswith('T_') and not self.f.later

    def error(self, code):
        """The class that a call raises or returns for a check's class."""
        return 'MPI_T_ERR_INVALID' if self.is_tools() and not code.startswith('MPI_T_') else code

    # --- how an argument is passed on ---------------------------------------------------------------------------------------

    def decoded(self, p):
        """Whether the implementation gets an object in place of a handle."""
        return p.kind.name in OBJECTS and p.direction == 'in' and not p.length and 'leader' not in p.words

    def maybe_nothing(self, p):
        """Whether the object may be missing: a null handle, or an argument that does not count here."""
        return 'null' in p.words or bool(self.counts(p))

    def uncounted(self, p):
        """The in-place buffers that make this argument one that does not count."""
        named = [b for b in self.params if p.name in b.length.split() and b.kind.allowed == 'buffer']
        return named if named and all('inplace' in b.words for b in named) else []

    def root(self):
        """The root of a collective that has one."""
        return next((p for p in self.params if p.kind.allowed == 'root'), None)

    def part_of(self, p):
        """Whose argument it is in a collective with a root, as a function of call.hpp says it: the root's, those that bring or get a
        part of their own, or all that take part. Between two groups these are not all. None: everybody's."""
        if not self.root() or p is self.root() or p.kind.name in ('COMM', 'INFO', 'REQUEST'):
            return None
        if 'root' in p.words:
            return 'at_root'
        buffers = [b for b in self.params if b.kind.allowed == 'buffer']
        holding = [b for b in buffers if b is p or p.name in b.length.split()]
        apart = any('root' in b.words for b in buffers) and holding and not any('root' in b.words for b in holding)
        return 'has_part' if apart else 'takes_part'

    def numbers(self, p):
        return bool(p.length) and p.direction == 'in' and p.kind.large and p.kind.c in NUMBERS

    def wide(self, p):
        return p.kind.large or p.kind.c

    def type_(self, p):
        """The type that checks and implementation see; handles are handles still."""
        if self.numbers(p):
            return 'numbers'
        if p.callback:
            small, large = p.callback, self.constants.callback(p.callback, True)
            return f'either<{small}, {large}>' if large != small else f'{small} *'
        if p.kind.pattern or p.length:
            type_, _ = declare.parameter(p, True, self.constants)
            return type_.replace('int [][3]', 'int (*)[3]').replace(' []', ' *')
        if p.direction == 'in':
            return self.wide(p)
        return self.wide(p) + (' *' if 'null' in p.words and p.kind.name not in HANDLES else ' &')

    def implemented_type(self, p):
        if not self.decoded(p):
            return self.type_(p)
        return OBJECTS[p.kind.name] + (' *' if self.maybe_nothing(p) else ' &')

    @staticmethod
    def joined(type_, name):
        if type_.endswith('(*)[3]'):
            return type_.replace('(*)', f'(*{name})')
        return type_ + ('' if type_.endswith(('*', '&')) else ' ') + name

    def signature(self, type_of):
        return ', '.join(['call &on'] + [self.joined(type_of(p), p.name) for p in self.params])

    def declaration(self):
        return f'void {self.name}({self.signature(self.implemented_type)});'

    # --- the checks -----------------------------------------------------------------------------------------------------------

    def owner(self, p):
        """The argument that a rank belongs to."""
        return p.words.get('of') or next(q.name for q in self.params if q.kind.name in ('COMM', 'GROUP', 'WIN')
                                         and q.direction == 'in' and not q.length)

    def blamed(self):
        """The object whose error handler is called, or None."""
        return next((p for p in self.params if p.kind.name in BLAMED and p.direction == 'in' and not p.length
                     and 'leader' not in p.words), None)

    def belonging(self):
        """The argument that belongs to the object whose error handler is called, where none is such an object itself; or None."""
        return None if self.is_tools() or self.blamed() else next(
            (p for p in self.params if p.kind.name in BELONGING and p.direction != 'out' and not p.length), None)

    def handled_by(self, before):
        """The line that says whose error handler is called from here on: the new object's, else that of what the call is for."""
        makes = any(p.kind.name in ('COMM', 'SESSION') and p.direction == 'out' for p in self.params)
        given = [p.name for p in self.params if p.kind.name == 'ERRHANDLER' and p.direction == 'in' and makes]
        if given:
            return [f'on.judged_by({given[0]});']
        return [f'on.blame({self.blamed().name});'] if before and self.blamed() else []

    def ranks_of(self, p):
        """The expression for how many ranks there are."""
        owner = self.by_name[self.owner(p)]
        if not self.decoded(owner):
            return owner.name if owner.kind.name == 'COMM_SIZE' else None
        return f'{owner.name}_.peers()' if owner.kind.name == 'COMM' else f'{owner.name}_.size()'

    def length_of(self, p):
        """The expression for an array's length, or None where only the implementation knows it."""
        text = p.length
        if text in self.by_name and not self.by_name[text].length:
            return text
        asked = text.removesuffix('(comm)')
        known = asked in ('peers', 'size', 'dims', 'sources', 'destinations')
        return f'comm_.{asked}()' if known and asked != text and 'comm' in self.by_name else None

    def counts(self, p):
        """The conditions under which the call looks at the argument at all, as far as its handle is concerned."""
        conditions = [self.part_of(p)] * bool(self.part_of(p))
        conditions += ['op != MPI_NO_OP'] * ('unless-no-op' in p.words)
        return conditions + [f'{b.name} != MPI_IN_PLACE' for b in self.uncounted(p)]

    def guard(self, p, lines):
        """Lines that count only where the argument does."""
        if not lines:
            return []
        conditions = self.counts(p)
        if 'later-ranks' in p.words:
            conditions.append('comm_.me != 0')
        if 'to-neighbours' in p.words:
            conditions.append('comm_.destinations() > 0')
        if 'from-neighbours' in p.words:
            conditions.append('comm_.sources() > 0')
        if not conditions:
            return lines
        block = [f'if ({" && ".join(conditions)}) {{', *('    ' + line for line in lines), '}']
        return [f'if ({" && ".join(conditions)}) {lines[0]}'] if len(lines) == 1 else block

    def decode(self, p):
        """The line that looks a handle up."""
        kind, name = p.kind.name, p.name
        if not self.decoded(p):
            return []
        look, told = ('object', f', "{name}"') if self.checks else ('known', '')
        if not self.maybe_nothing(p):
            return [f'auto &{name}_ = on.{look}({name}{told});']
        find = f'on.{look}_or_null({name}, {NULLS[kind]}{told})' if 'null' in p.words else f'&on.{look}({name}{told})'
        if conditions := self.counts(p):
            return [f'{OBJECTS[kind]} *const {name}_ = {" && ".join(conditions)} ? {find} : nullptr;']
        return [f'auto *const {name}_ = {find};']

    def check(self, p):
        kind, name = p.kind, p.name
        if not self.checks:
            return []
        if p.length and kind.name != 'STRING':
            return self.guard(p, self.check_array(p))
        if kind.allowed == 'buffer':
            return self.guard(p, self.check_data(p))
        if kind.pattern or p.callback:
            wanted = kind.allowed in ('text', 'pointer') and 'null' not in p.words
            at = (f'{name}.small || {name}.large ? &on : nullptr' if self.type_(p).startswith('either')
                  else f'{name} ? &on : nullptr' if p.callback else name)
            return self.guard(p, [f'on.not_null({at}, "{name}");'] if wanted else [])
        if p.direction == 'out':
            return []
        return self.guard(p, self.check_value(p))

    def check_value(self, p):
        kind, name, code = p.kind, p.name, p.kind.error
        rule, *more = kind.allowed.split()
        if self.decoded(p) and rule == 'in':
            return [f'on.predefined({name}_, "{name}");']
        if self.decoded(p):
            return [f'on.committed({name}_, "{name}");'] if 'committed' in p.words and not self.maybe_nothing(p) else []
        if kind.allowed == 'handle' and kind.name in HANDLES:
            if p.direction == 'in':
                null = f'if ({name} != {NULLS[kind.name]}) ' if 'null' in p.words else ''
                return [] if 'leader' in p.words else [f'{null}on.object({name}, "{name}");']
            null = f'if ({name} != {NULLS[kind.name]}) ' if 'null' in p.words else ''
            return [f'{null}on.object({name}, "{name}");']
        if rule in ('>=0', '>0') and not more:
            return [f'on.at_least({name}, {int(rule == ">0")}, "{name}", {code});']
        if rule in ('>=0', '>0'):
            return [f'if ({" && ".join(f"{name} != {m}" for m in more)}) '
                    f'on.at_least({name}, {int(rule == ">0")}, "{name}", {code});']
        if rule == 'rank':
            size = 'leader' not in p.words and self.ranks_of(p)
            return [f'on.rank({name}, {size}, "{name}", {self.also(more)});'] if size else []
        if rule == 'root':
            return [f'on.root({name}, comm_, "{name}");']
        if rule == 'tag':
            return [f'on.tag({name}, "{name}", {"true" if more else "false"});']
        if rule in ('in', 'bits'):
            return self.check_listed(p, rule, more)
        return []

    @staticmethod
    def also(more):
        words = [w for c, w in (('MPI_PROC_NULL', 'also::null'), ('MPI_ANY_SOURCE', 'also::any')) if c in more]
        return ' | '.join(words) or 'also::none'

    def check_listed(self, p, rule, more):
        members = [c.name for c in self.constants.groups[more[0]].constants if not c.alias] + more[1:]
        if self.constants.groups[more[0]].form not in ('enum', 'macro'):
            return []
        if rule == 'bits':
            return [f'on.bits({p.name}, {" | ".join(members)}, "{" ".join(members)}", "{p.name}", {p.kind.error});']
        listed = f'static constexpr std::int64_t {p.name}_allowed[]{{{", ".join(members)}}};'
        return [listed, f'on.one_of({p.name}, {p.name}_allowed, {len(members)}, "{", ".join(members)}", "{p.name}", '
                f'{p.kind.error});']

    def check_array(self, p):
        kind, name, n = p.kind, p.name, self.length_of(p)
        if kind.allowed.startswith('buffer'):
            return self.check_data(p)
        at = f'{name}.null() ? nullptr : &on' if self.numbers(p) else name
        ignorable = 'null' in p.words and kind.name not in HANDLES or kind.name == 'WEIGHT' or kind.name == 'STATUS'
        lines = [] if ignorable or not n else [f'if ({n} > 0) on.not_null({at}, "{name}");']
        if p.direction == 'out' or not n or kind.c == '...':
            return lines
        rule, *more = kind.allowed.split()
        if kind.name in HANDLES and kind.allowed == 'handle':
            if counts := p.words.get('counted-by'):
                return lines + [f'for (int i = 0; i < {n}; ++i)',
                                f'    if ({counts}[i] != 0 || {name}[i] != {NULLS[kind.name]}) on.nth({name}, i, "{name}");']
            if 'null' in p.words:
                return lines + [f'static {kind.c} const {name}_null = {NULLS[kind.name]};',
                                f'on.objects({name}, {n}, "{name}", &{name}_null);']
            return lines + [f'on.objects({name}, {n}, "{name}");']
        if rule in ('>=0', '>0') and not more and (self.numbers(p) or kind.c == 'int'):
            return lines + [f'on.each_at_least({name}, {n}, {int(rule == ">0")}, "{name}", {kind.error});']
        if rule == 'rank' and not kind.pattern and (size := self.ranks_of(p)):
            return lines + [f'on.each_rank({name}, {n}, {size}, "{name}", {self.also(more)});']
        return lines

    def check_data(self, p):
        """Data lie where the brackets say how much there is."""
        name, place = p.name, [self.by_name[w] for w in p.length.split() if w in self.by_name]
        types = [q for q in place if q.kind.name == 'DATATYPE']
        lines = []
        if len(types) == 1 and self.decoded(types[0]):
            type_ = ('*' if self.maybe_nothing(types[0]) else '') + types[0].name + '_'
            lines.append(f'on.committed({type_}, "{types[0].name}");')
            counts = [q for q in place if q.kind.name == 'COUNT']
            if len(place) == 1:
                lines.append(f'on.data({name}, 1, {type_}, "{name}");')
            elif len(place) == 2 and len(counts) == 1 and not counts[0].length:
                lines.append(f'on.data({name}, {counts[0].name}, {type_}, "{name}");')
            elif len(counts) == 1 and counts[0].length == 'size(comm)' and p.direction == 'out':
                lines.append(f'on.data({name}, {counts[0].name}[comm_.me], {type_}, "{name}");')
            elif len(counts) == 1 and counts[0].length and (n := self.length_of(counts[0])):
                lines.append(f'on.data({name}, {counts[0].name}, {n}, {type_}, "{name}");')
        elif len(place) == 1 and not place[0].length and place[0].kind.c in NUMBERS and place[0].direction == 'in' \
                and p.kind.name in ('BUFFER', 'MEMORY', 'SEND_MEMORY'):
            lines.append(f'on.bytes({name}, {place[0].name}, "{name}", {p.kind.error});')
        if 'inplace' in p.words and lines:
            return [f'if ({name} != MPI_IN_PLACE) {{', *('    ' + line for line in lines), '}']
        return lines

    # --- the whole --------------------------------------------------------------------------------------------------------------

    def checked(self):
        """The function that checks and passes on."""
        first = sorted((p for p in self.params if p.kind.name in ('COMM', 'GROUP', 'WIN') or p is self.belonging()),
                       key=lambda p: p.kind.name == 'GROUP')
        root = [p for p in self.params if p.kind.allowed == 'root']
        others = [p for p in self.params if p not in first and p not in root]
        lines = [line for p in first for line in self.decode(p)]
        for p in first + root:
            lines += self.check(p)
        asked = self.params if self.checks else [p for p in others if self.decoded(p) and self.maybe_nothing(p)]
        for part in sorted({self.part_of(p) for p in asked} - {None}):
            lines.append(f'bool const {part} = on.{part}({root[0].name}, comm_);')
        for p in others:
            lines += self.decode(p)
        values = [p for p in others if p.kind.allowed != 'buffer']
        for p in values + [p for p in others if p.kind.allowed == 'buffer']:
            lines += self.check(p)
        given = ', '.join(['on'] + [p.name + ('_' if self.decoded(p) else '') for p in self.params])
        lines.append(f'impl::{self.name}({given});')
        return [f'void {self.name}({self.signature(self.type_)}) {{', *('    ' + line for line in lines), '}']

    def entry(self, form):
        """One exported function and its second name."""
        name, params, large = form
        returns = declare.spaced(self.f.returns.c)
        prototype = declare.prototype(returns, form, self.constants, 'P').removesuffix(';')
        attribute = f'{declare.prototype(returns, form, self.constants).removesuffix(";")} ' \
                    f'__attribute__((weak, alias("P{name}")));'
        body = [self.short_way()] if self.f.quick and not large else self.body(name, large)
        return [prototype + ' {', *('    ' + line for line in body), '}', attribute]

    def short_way(self):
        return f'return quick::{self.name}({", ".join(p.name for p in self.params)});'

    def otherwise(self):
        """What a function with a short way does where that is none."""
        name, params, _ = self.f.forms()[0]
        prototype = declare.prototype(declare.spaced(self.f.returns.c), (self.name, params, False), self.constants, '').removesuffix(';')
        return [prototype + ' {', *('    ' + line for line in self.body(name, False)), '}', '']

    def body(self, name, large):
        if self.f.returns.name != 'ERROR_CODE':
            return [f'return impl::{self.name}({", ".join(p.name for p in self.params)});']
        head = f'return run("{name}", {str(large).lower()}, {str(self.f.anytime).lower()}'
        if self.is_tools():
            head = f'return run_tool("{name}", {str(self.name != "T_init_thread").lower()}'
        if self.f.later:
            object_ = self.blamed()
            lines = ([f'on.object({object_.name}, "{object_.name}");'] if object_ else []) + ['on.not_supported();']
            return [f'{head}, [&](call &on) {{ {" ".join(lines)} }});']
        before, given, after = [], ['on'], []
        for p in self.params:
            self.pass_on(p, large, before, given, after)
        act = [*self.handled_by(before), *before, f'{"::" * (self.f.quick and not large)}{self.name}({", ".join(given)});', *after]
        undo = self.undo()
        if len(act) == 1:
            return [f'{head}, [&](call &on) {{ {act[0]} }}{undo});']
        return [f'{head}, [&](call &on) {{', *('    ' + line for line in act), f'}}{undo});']

    def undo(self):
        """What is done where the call fails: whoever looks at a handle that it was to make finds a null one."""
        made = [p for p in self.params if p.direction == 'out' and not p.length and p.kind.name in NULLS]
        lines = ' '.join(f'if ({p.name}) *{p.name} = {NULLS[p.kind.name]};' for p in made)
        return f', [&] {{ {lines} }}' if made and not self.is_tools() else ''

    def check_place(self, p):
        """The lines that check where a value goes. Whose error it is where that is nowhere, is asked only then."""
        check, whose = f'on.not_null({p.name}, "{p.name}");', self.belonging()
        if not whose or self.params.index(whose) >= self.params.index(p):
            return [check]
        return [f'if (!{p.name}) on.blame({"*" * (whose.direction == "inout")}{whose.name});', check]

    def pass_on(self, p, large, before, given, after):
        """How one argument of a form becomes the checked function's."""
        small = not large and bool(p.kind.large) and p.kind.c != p.kind.large
        if p.large_only and not large:
            given.append('nullptr' if p.length else '0' if p.direction == 'in' else f'{p.name}')
            if p.direction != 'in' and not p.length:
                before.append(f'{self.wide(p)} {p.name} = 0;')
            return
        if self.numbers(p):
            type_ = 'MPI_Count const *' if large else f'{"int" if p.kind.c == "int" else "MPI_Count"} const *'
            given.append(f'numbers{{reinterpret_cast<{type_}>({p.name})}}' if large or p.kind.c != 'int'
                         else f'numbers{{{p.name}}}')
            return
        if p.direction == 'in' or p.kind.pattern or p.length or p.callback:
            given.append(p.name)
            return
        if 'null' in p.words and p.kind.name not in HANDLES:
            given.append(p.name)
            return
        before += self.check_place(p) * self.checks
        if not small:
            given.append('*' + p.name)
            return
        start = f'*{p.name}' if p.direction == 'inout' else '0'
        before.append(f'{p.kind.large} wide_{p.name} = {start};')
        given.append(f'wide_{p.name}')
        narrowed = f'narrow(wide_{p.name})' if p.kind.c == 'int' else f'wide_{p.name}'
        after.append(f'*{p.name} = {narrowed};')


def entries_of(api, constants, number, checks=True):
    chapter = next(c for c in api.chapters if c.number == number)
    return chapter, [Entry(f, constants, checks) for section in chapter.sections for f in section.functions]


def declarations(api, constants):
    """entries.hpp"""
    lines = [DECLARED]
    for chapter in api.chapters:
        here = [Entry(f, constants) for section in chapter.sections for f in section.functions if not f.later]
        lines += ['', f'// {chapter.title}'] if here else []
        for entry in here:
            if entry.f.returns.name == 'ERROR_CODE':
                lines.append(entry.declaration())
            else:
                lines.append(f'{declare.spaced(entry.f.returns.c)} {entry.name}('
                             + ', '.join(declare.joined(*declare.parameter(p, False, constants)) for p in entry.params) + ');')
    return '\n'.join(lines + ['', '} // namespace mpt::c::impl', ''])


def chapter(api, constants, number, checks=True):
    """entries_NUMBER.cpp; without checks unchecked_NUMBER.cpp"""
    part, entries = entries_of(api, constants, number, checks)
    lines = [HEAD.format(number=number, title=part.title)]
    for entry in entries:
        if not entry.f.later and entry.f.returns.name == 'ERROR_CODE':
            lines += [*entry.checked(), '']
    lines += ['} // namespace', '']
    if any(entry.f.quick for entry in entries):
        lines += ['namespace mpt::c::quick::otherwise {', '']
        for entry in entries:
            lines += entry.otherwise() if entry.f.quick else []
        lines += ['} // namespace mpt::c::quick::otherwise', '']
    lines += ['extern "C" {', '']
    for entry in entries:
        for form in entry.f.forms():
            lines += [*entry.entry(form), '']
    return '\n'.join(lines + ['} // extern "C"', ''])
