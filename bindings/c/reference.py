"""The pages of the manual, one a function with its large twin: MPI_Send.3, in roff's man macros. What they say of an argument is
what the table says: its kind and its words."""
import re

import declare
import entries

WIDTH = 72                       # of a prototype: a terminal's line without the margin
DIRECTIONS = {'in': 'in', 'out': 'out', 'inout': 'in, out'}
# What a rule of a kind allows, and what is wrong with another value. Ranks and constants are told by their owner and group.
RULES = {'>=0': ('not negative', 'is negative'), '>0': ('at least 1', 'is less than 1'),
         'bool': ('0 for false, any other for true', ''), 'handle': ('the handle of a living object', 'is no handle of a living object'),
         'rank': ('a rank', 'is no such rank'), 'root': ('a rank', 'is no such rank'),
         'tag': ('0 to the value of MPI_TAG_UB', 'is no such tag'), 'in': ('', 'is none of these constants'),
         'bits': ('', 'has other bits'), 'text': ('no null pointer', ''), 'pointer': ('no null pointer', ''),
         'buffer': ('a null pointer only for no data', 'is a null pointer where data should be'), 'any': ('', '')}
LENGTHS = {'size': 'one for each process of `{}`', 'peers': 'one for each process of `{}`, of the remote group where there is one',
           'sources': 'one for each neighbour of `{}` that this process receives from',
           'destinations': 'one for each neighbour of `{}` that this process sends to', 'dims': 'one for each dimension of `{}`',
           'last': 'the last number of `{}`', 'sum': 'the sum of `{}`', 'until': 'up to a null pointer'}
IGNORED = {('STATUS', False): 'MPI_STATUS_IGNORE', ('STATUS', True): 'MPI_STATUSES_IGNORE', ('ERROR_CODE', True): 'MPI_ERRCODES_IGNORE',
           ('STRINGS', True): 'MPI_ARGV_NULL', ('STRING_LISTS', True): 'MPI_ARGVS_NULL'}
NULL = 'is a null pointer'
COUNTS = {'root': 'Counts at the root only.', 'leader': 'Counts at the local leader only.',
          'later-ranks': 'Does not count at rank 0.', 'unless-no-op': 'Does not count where `op` is MPI_NO_OP.', 'to-neighbours': 'Counts where this process has neighbours to send to.',
          'from-neighbours': 'Counts where this process has neighbours to receive from.'}


# --- roff ---------------------------------------------------------------------------------------------------------------------------

def escaped(text):
    """What roff prints as it stands: no escapes, no hyphen in place of a minus, no line that is a request."""
    text = text.replace('\\', '\\e').replace('-', '\\-')
    return re.sub(r"^([.'])", r'\\&\1', text, flags=re.MULTILINE)


def marked(text):
    """`argument` in italics, names of MPI in bold."""
    return re.sub(r'`(\w+)`', r'\\fI\1\\fR', re.sub(r'\b(P?MPI_\w+)', r'\\fB\1\\fR', escaped(text)))


def sentence(text):
    return text[0].upper() + text[1:] + '.' if text else ''


def listed(words, last='and'):
    return words[0] if len(words) == 1 else f'{", ".join(words[:-1])} {last} {words[-1]}'


def paragraph(tag, text):
    return ['.TP', tag, marked(text)]


# --- one argument -------------------------------------------------------------------------------------------------------------------

def pointed(p):
    """Whether the argument is an address: of an array, of what the call writes, or by its kind."""
    return bool(p.length or p.kind.pattern or p.callback) or p.direction != 'in'


def data_length(entry, p):
    named = [entry.by_name[w] for w in p.length.split() if w in entry.by_name]
    if not named:
        return ''
    if any(q.length for q in named) or len(named) > 2:
        return 'by ' + listed([f'`{q.name}`' for q in named])
    if len(named) == 2:
        return f'`{named[0].name}` elements of `{named[1].name}`'
    return f'one element of `{named[0].name}`' if named[0].kind.name == 'DATATYPE' else f'`{named[0].name}` bytes'


def length(entry, p):
    """How long what an argument points to is."""
    if p.kind.allowed.startswith('buffer'):
        return data_length(entry, p)
    call = re.match(r'(\w+)\((\w+)\)$', p.length)
    if call:
        return LENGTHS[call[1]].format(call[2])
    return f'`{p.length}`' if p.length in entry.by_name else p.length


def constants_of(entry, group):
    return [f'{c.name} ({c.text})' if c.text else c.name for c in entry.constants.groups[group].constants
            if not c.alias and not c.name.endswith('_NULL')]


def null_handle(entry, kind):
    return next(c.name for g in entry.constants.groups.values() if g.form == kind.c for c in g.constants if c.name.endswith('_NULL'))


def ranks(entry, p):
    """Whose rank it is."""
    owner = entry.by_name[entry.owner(p)]
    if owner.kind.name == 'COMM_SIZE':
        return f'0 to `{owner.name}` less one'
    return f'a rank of `{owner.name}`' + ', of its remote group where there is one' * (owner.kind.name == 'COMM')


def allowed(entry, p):
    """Which values: the rule of the kind, and what is allowed beside."""
    rule, *more = p.kind.allowed.split()
    found = RULES[rule][0]
    if rule in ('in', 'bits'):
        group, *more = more
        found = ('bits of ' if rule == 'bits' else '') + ', '.join(constants_of(entry, group))
    elif p.length == '*':
        return ''
    elif rule == 'buffer':
        found += ''.join(f', or where the displacements of `{q.name}` are addresses (MPI_BOTTOM)' for q in entry.params
                         if q.kind.name == 'DATATYPE' and q.name in p.length.split())
    elif p.direction == 'out' or rule in ('text', 'pointer') and 'null' in p.words:
        return ''
    elif rule in ('rank', 'root'):
        found = ranks(entry, p)
    if rule == 'handle' and 'null' in p.words:
        more.append(null_handle(entry, p.kind))
    if counts := p.words.get('counted-by'):
        more.append(f'{null_handle(entry, p.kind)} where `{counts}` is 0')
    if rule == 'any':
        return f'In its place: {listed(more, "or")}.' if more else ''
    each = ', each' if p.length and rule not in ('text', 'pointer', 'buffer') else ''
    return f'{"Allowed" if p.direction != "out" or rule == "buffer" else "Values"}{each}: {"; or ".join([found] + more)}.'


def nothing(entry, p):
    """What may stand in place of an address."""
    predefined = [name for group in entry.constants.groups.values() if group.form == p.callback + '*'
                  for name in constants_of(entry, group.name) + [c.name for c in group.constants if c.name.endswith('_NULL')]]
    if p.callback and predefined:
        return f'Predefined: {", ".join(predefined)}.'
    if 'null' not in p.words or not pointed(p) or p.kind.allowed == 'handle' and p.direction != 'out':
        return ''
    ignored = IGNORED.get((p.kind.name, bool(p.length)), 'A null pointer')
    return f'{ignored} where {"there is none" if p.direction == "in" else "it is not wanted"}.'


def in_place(entry, p):
    if 'inplace' not in p.words:
        return ''
    where = ' (at the root)' if any(q.kind.allowed == 'root' for q in entry.params) else ''
    return f'MPI_IN_PLACE{where}: the other buffer holds the data.'


def committed(entry, p):
    """Whether it is a datatype of data."""
    return p.kind.name == 'DATATYPE' and p.direction == 'in' and (
        'committed' in p.words or any(p.name in q.length.split() for q in entry.params if q.kind.allowed == 'buffer'))


def in_use(entry, p):
    """Who may touch it after the call."""
    started = any(q.kind.name == 'REQUEST' and q.direction == 'out' for q in entry.params)
    if 'async' not in p.words or not (started or p.kind.name == 'BUFFER'):
        return ''
    return f'Not to be {"changed" if p.direction == "in" else "touched"} until the operation is complete.'


def when(entry, p):
    """Where an argument counts at all."""
    out = [text for word, text in COUNTS.items() if word in p.words]
    if in_place_of := entry.uncounted(p):
        out.append(f'Does not count where {listed([f"`{b.name}`" for b in in_place_of], "or")} is MPI_IN_PLACE.')
    return out + [f'Only in {entry.f.name}_c.'] * p.large_only


def argument(entry, p):
    long = length(entry, p)
    element = 'array; each element: ' if p.length and (not p.kind.pattern or p.kind.name == 'STATUS') else ''
    said = [sentence(element + p.kind.text), f'Length: {long}.' if long else '', allowed(entry, p), nothing(entry, p), in_place(entry, p),
            'It must be committed (MPI_Type_commit).' if committed(entry, p) else '', *when(entry, p), in_use(entry, p)]
    return paragraph(f'\\fI{p.name}\\fR ({DIRECTIONS[p.direction]})', ' '.join(x for x in said if x))


# --- errors -------------------------------------------------------------------------------------------------------------------------

def faults(entry, p):
    """[(error class, what is wrong with the argument)]"""
    rule, found = p.kind.allowed.split()[0], []
    optional = 'null' in p.words and (rule != 'handle' or p.kind.name not in entries.HANDLES) or p.kind.name == 'WEIGHT'
    free = rule == 'buffer' or rule == 'any' and p.kind.pattern and not p.length
    if pointed(p) and not optional and not free:
        found.append(('MPI_ERR_ARG', NULL))
    if (p.direction != 'out' or rule == 'buffer') and RULES[rule][1] and p.length != '*':
        found.append((p.kind.error, RULES[rule][1]))
    found += [('MPI_ERR_TYPE', 'is not committed')] * committed(entry, p)
    return [(entry.error(code), what) for code, what in found]


def fault_list(entry):
    """{error class: what gives it}; a function that is not there yet looks at nothing but its communicator."""
    by_fault = {}
    for p in entry.params:
        for fault in faults(entry, p) if not entry.f.later else [(p.kind.error, RULES['handle'][1])] * (p is entry.blamed()):
            of_array = p.length and not p.kind.pattern and fault[1] != NULL
            by_fault.setdefault(fault, []).append(f'an element of `{p.name}`' if of_array else f'`{p.name}`')
    found = {'MPI_ERR_UNSUPPORTED_OPERATION': ['always: not yet supported by mpt']} if entry.f.later else {}
    for (code, what), arguments in by_fault.items():
        found.setdefault(code, []).append(f'{listed(arguments, "or")} {what}')
    if entry.is_tools() and entry.name != 'T_init_thread':
        found['MPI_T_ERR_NOT_INITIALIZED'] = ['called before MPI_T_init_thread or after the last MPI_T_finalize']
    if not entry.f.anytime:
        found['MPI_ERR_OTHER'] = ['called before MPI_Init or after MPI_Finalize']
    return found


def errors(entry):
    if entry.f.returns.name != 'ERROR_CODE':
        return ['.SH RETURN VALUE', marked(sentence(entry.f.returns.text))]
    out, found = ['.SH RETURN VALUE', marked('MPI_SUCCESS, or an error code.')], fault_list(entry)
    if not found:
        return out
    handler = f'`{entry.blamed().name}`' if entry.blamed() else 'MPI_COMM_SELF'
    first = 'No error handler is called' if entry.is_tools() else \
        f'The error handler of {handler} is called first; the initial one ends the job'
    out += ['.SH ERRORS', marked(f'{first}. What is not allowed, by error class (the operation itself may meet other errors):')]
    for code, what in found.items():
        out += paragraph(f'\\fB{code}\\fR', sentence('; '.join(what)))
    return out


# --- the page -----------------------------------------------------------------------------------------------------------------------

def synopsis(entry):
    out = ['.SH SYNOPSIS', '.nf', '\\fB#include <mpi.h>\\fR']
    returns = declare.spaced(entry.f.returns.c)
    for form in entry.f.forms():
        text = escaped(declare.wrapped(declare.prototype(returns, form, entry.constants), WIDTH))
        out += ['', text.replace(form[0] + '(', f'\\fB{form[0]}\\fR(', 1)]
    callbacks = {entry.constants.callback(p.callback, large) for _, params, large in entry.f.forms() for p in params if p.callback}
    for type_ in (entry.constants.types[name] for name in sorted(callbacks)):
        out += ['', escaped(declare.wrapped(f'typedef {type_.of} {type_.name}({type_.parameters});', WIDTH))]
    return out + ['.fi']


def notes(entry):
    f = entry.f
    said = [f'{f.name}_c takes wide counts.' if f.large else '', f'Deprecated since {f.deprecated}.' if f.deprecated else '',
            'May be called before MPI_Init and after MPI_Finalize.' if f.anytime else '', 'There is no Fortran form.' if f.c_only else '',
            f'A profiling tool that replaces {f.name} reaches it as P{f.name}.']
    return ['.SH NOTES', marked(' '.join(x for x in said if x))]


def page(entry, chapter, section):
    f, names = entry.f, ', '.join(name for name, _, _ in entry.f.forms())
    others = [f'.BR {g.name} (3)' for g in section.functions if g is not f]
    out = [f'.TH {f.name} 3 "" "mpt" "MPI"', '.nh', '.ad l', '.SH NAME', f'{names} \\- {escaped(f.text)}', *synopsis(entry)]
    out += ['.SH ARGUMENTS', *(line for p in entry.params for line in argument(entry, p))] if entry.params else []
    out += [*errors(entry), *notes(entry), '.SH STANDARD', escaped(f'MPI-5.0, chapter {chapter.number}: {chapter.title}.')]
    return '\n'.join(out + (['.SH SEE ALSO', ' ,\n'.join(others)] if others else [])) + '\n'


def pages(api, constants):
    """{name of the file: its text}"""
    return {f'{f.name}.3': page(entries.Entry(f, constants), chapter, section)
            for chapter in api.chapters for section in chapter.sections for f in section.functions}
