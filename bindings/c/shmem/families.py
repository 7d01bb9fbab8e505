"""The table of OpenSHMEM's interface, read and checked: families of functions, and each function that they stand for."""
import dataclasses
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import reading  # noqa: E402

TABLE = HERE / 'shmem_api.tbl'
WORDS = {'types': True, 'sized': True, 'sizes': True, 'ctx': False, 'ctx_or_none': False, 'generic': False, 'returns': True, 'since': True,
         'deprecated': False, 'extension': False, 'apart': True, 'noreturn': False, 'later': False, 'anytime': False}
ALL_SIZES = '8,16,32,64,128,mem'
CHECKS = ('symmetric', 'ours', 'cell', 'given', 'pe', 'pes', 'root', 'set_root', 'active_set', 'context', 'context_or_none', 'any_context', 'old_context', 'team',
          'team_or_none', 'old_team', 'signal_op', 'comparison')
MEASURED = ('symmetric', 'ours', 'cell', 'given', 'pes')  # how many elements stands in brackets
SET = ('PE_start', 'logPE_stride', 'PE_size')  # the arguments that name an active set
PARAMETER = re.compile(r'(\w+): (\w+)(?:\[(.*)\])?$')
SAME_TYPE = {'int8_t': 'signed char', 'int16_t': 'short', 'int32_t': 'int', 'int64_t': 'long', 'ptrdiff_t': 'long', 'uint8_t': 'unsigned char',
             'uint16_t': 'unsigned short', 'uint32_t': 'unsigned int', 'uint64_t': 'unsigned long', 'size_t': 'unsigned long'}  # LP64


@dataclasses.dataclass
class Kind:
    name: str
    c: str
    check: str | None
    watched: bool = False   # programs may have it volatile


@dataclasses.dataclass
class Parameter:
    name: str
    kind: Kind
    length: str | None = None

    def type(self, element):
        """Its type in C, with the family's element type in its place."""
        return re.sub(r'\bT\b', element, self.kind.c)


CTX = Parameter('ctx', Kind('CTX', 'shmem_ctx_t', 'context'))
CTX_OR_NONE = Parameter('ctx', Kind('CTX_OR_NONE', 'shmem_ctx_t', 'context_or_none'))


@dataclasses.dataclass
class Function:
    """One function of C."""
    family: 'Family'
    name: str
    element: str            # the element type in C, void for functions by size
    width: str              # an element's bytes, as an expression
    type_name: str = ''     # the word for the type that the name carries
    ctx: bool = False

    def parameters(self):
        return [CTX_OR_NONE if 'ctx_or_none' in self.family.words else CTX] * self.ctx + self.family.parameters

    def returns(self):
        return self.element if self.family.returns == 'T' else self.family.returns

    def declared(self):
        """[(type, name)]"""
        return [(p.type(self.element), p.name) for p in self.parameters()]

    def prototype(self, prefix=''):
        inside = ', '.join(joined(*pair) for pair in self.declared()) or 'void'
        return joined(self.returns(), f'{prefix}{self.name}({inside})')


def same_type(element):
    """The type of C that a type with another name is."""
    return SAME_TYPE.get(element, element)


def joined(type_, name):
    return type_ if type_ == '...' else type_ + ('' if type_.endswith('*') else ' ') + name


@dataclasses.dataclass
class Family:
    line: int
    name: str
    words: dict
    text: str
    parameters: list
    body: str
    section: str
    api: 'Api'

    returns = property(lambda self: self.words.get('returns', 'void').replace('*', ' *'))
    later = property(lambda self: 'later' in self.words)
    has_twin = property(lambda self: 'ctx' in self.words or 'ctx_or_none' in self.words)

    def typed(self, ctx):
        """The functions of each type; the one function of a family without types."""
        if 'types' not in self.words:
            return [self.made(self.name, 'void', '1', '', ctx)] if '#' not in self.name else []
        return [self.made(self.name.replace('@', name), self.api.types[name], f'sizeof({self.api.types[name]})', name, ctx)
                for name in self.api.lists[self.words['types']]]

    def sized(self, ctx):
        pattern = self.words.get('sized', self.name if '#' in self.name else None)
        if not pattern:
            return []
        sizes = self.words.get('sizes', ALL_SIZES).split(',')
        return [self.made(pattern.replace('#', size), 'void', '1' if size == 'mem' else str(int(size) // 8), '', ctx) for size in sizes]

    def made(self, name, element, width, type_name, ctx):
        return Function(self, name.replace('shmem_', 'shmem_ctx_', 1) if ctx else name, element, width, type_name, ctx)

    def functions(self):
        return [f for ctx in [False] + [True] * self.has_twin for f in self.typed(ctx) + self.sized(ctx)]

    def generic(self):
        """The name of the macro of C11 and of the overloads of C++."""
        return self.name.replace('@_', '') if 'generic' in self.words else None

    def distinct(self, ctx=False):
        """The functions of the types that C tells apart: of several names for one type, the first."""
        found = {}
        for f in self.typed(ctx):
            found.setdefault(same_type(f.element), f)
        return list(found.values())


class Api:
    def __init__(self, path, text):
        self.report = reading.Report(path)
        self.types, self.lists, self.kinds, self.constants, self.families = {}, {}, {}, [], []
        self.section = None
        for entry in reading.entries(text, self.report):
            word, _, rest = entry.head.partition(' ')
            {'type': self.read_type, 'types': self.read_list, 'kind': self.read_kind, 'constants': self.read_constants,
             'section': self.read_section}.get(word, self.read_family)(entry, rest.split())
        self.check()
        self.report.close()

    def fault(self, entry, sentence):
        self.report.fault(entry.line, sentence)

    def add(self, entry, where, name, what):
        if name in where:
            self.fault(entry, f'{name} is there twice')
        where[name] = what

    def read_type(self, entry, rest):
        self.add(entry, self.types, rest[0], entry.text)

    def read_list(self, entry, rest):
        names = ' '.join([entry.text] + [text for _, text in entry.body]).split()
        for name in names:
            if name not in self.types:
                self.fault(entry, f'types {rest[0]}: "{name}" is no type{reading.nearest(name, self.types)}')
        self.add(entry, self.lists, rest[0], [name for name in names if name in self.types])

    def read_kind(self, entry, rest):
        check = next((w.removeprefix('check=') for w in rest[1:] if w.startswith('check=')), None)
        if check and check not in CHECKS:
            self.fault(entry, f'kind {rest[0]}: "{check}" is no check{reading.nearest(check, CHECKS)}')
        if len(entry.body) != 1:
            return self.fault(entry, f'kind {rest[0]} has no type below it')
        return self.add(entry, self.kinds, rest[0], Kind(rest[0], entry.body[0][1], check, 'watched' in rest[1:]))

    def read_constants(self, entry, rest):
        text = ' '.join(text for _, text in entry.body)
        found = [item.split(' ', 1) for item in re.split(r',\s*(?=SHMEM)', text)]
        for item in (i for i in found if len(i) != 2):
            self.fault(entry, f'"{item[0]}" has no value')
        self.constants.append((entry.text, 'old' in rest, found))

    def read_section(self, entry, rest):
        self.section = ' '.join(rest)

    def read_family(self, entry, rest):
        name = entry.head.split(' ')[0]
        words = reading.words(rest, WORDS, entry.line, self.report)
        text = ' '.join(text for _, text in entry.body)
        parameters, arrow, body = text.partition('->')
        if not entry.text:
            self.fault(entry, f'{name} has no sentence')
        if bool(arrow) == ('later' in words):
            self.fault(entry, f'{name} {"says what it does, but is not there yet" if arrow else "does not say what it does"}')
        if self.section is None:
            self.fault(entry, f'{name} stands in no section')
        read = [p for p in map(str.strip, re.split(r',\s*(?=\w+: )', parameters)) if p]
        self.families.append(Family(entry.line, name, words, entry.text, [self.read_parameter(entry, name, p) for p in read],
                                    body.strip(), self.section, self))

    def read_parameter(self, entry, name, text):
        m = PARAMETER.match(text)
        if not m or m[2] not in self.kinds:
            self.fault(entry, f'{name}: "{text}" is no parameter{reading.nearest(m[2], self.kinds) if m else ""}')
            return Parameter(text, Kind('', 'void *', None))
        return Parameter(m[1], self.kinds[m[2]], m[3])

    def check(self):
        """What no entry can see alone."""
        names = {}
        for family in self.families:
            types = family.words.get('types')
            if types and types not in self.lists:
                self.report.fault(family.line, f'{family.name}: "{types}" is no list of types{reading.nearest(types, self.lists)}')
                continue
            if bool(types) != ('@' in family.name):
                self.report.fault(family.line, f'{family.name}: types= and @ go together')
                continue
            for p in family.parameters:
                if p.kind.check in MEASURED and not p.length and not family.later:
                    self.report.fault(family.line, f'{family.name}: {p.name} does not say how many elements')
                if p.kind.check in ('set_root', 'active_set') and not {*SET} <= {q.name for q in family.parameters}:
                    self.report.fault(family.line, f'{family.name}: {p.name} goes with {", ".join(SET)}')
            for f in family.functions():
                if f.name in names:
                    self.report.fault(family.line, f'{f.name} is there twice; first in line {names[f.name]}')
                names[f.name] = family.line

    def there(self):
        return [family for family in self.families if not family.later]

    def functions(self):
        return [f for family in self.there() for f in family.functions()]


def read(path=TABLE):
    return Api(path, pathlib.Path(path).read_text())
