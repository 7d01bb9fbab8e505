"""The functions of the C interface: mpi_api.tbl, read and checked against mpi_constants.tbl."""
import dataclasses
import re

import reading

FUNCTION = re.compile(r'MPI_[A-Z]\w*$')
PARAMETER = re.compile(r'(\w+): ([A-Z][A-Z_]*)(?:=(\w+))?(?:\[([^\]]+)\])?((?: [^\s]+)*)$')
FUNCTION_WORDS = {'large': False, 'returns': True, 'deprecated': True, 'c-only': False, 'later': False,
                  'anytime': False, 'quick': False}
PARAMETER_WORDS = {'out': False, 'inout': False, 'of': True, 'null': False, 'inplace': False, 'root': False, 'leader': False,
                   'counted-by': True, 'later-ranks': False, 'to-neighbours': False, 'from-neighbours': False, 'unless-no-op': False, 'async': False, 'committed': False,
                   'large': False}
RANKED = ('COMM', 'GROUP', 'WIN')      # kinds of what has ranks
KIND_WORDS = ('c', 'large', 'fortran', 'allowed', 'error')
ALLOWED = {'any', '>=0', '>0', 'bool', 'handle', 'rank', 'root', 'tag', 'text', 'pointer', 'buffer'}
LENGTH_CALLS = {'size', 'peers', 'sources', 'destinations', 'dims', 'last', 'sum'}
CXX_WORDS = set('''and asm auto bool break case catch char class compl concept const continue default delete do double
    else enum explicit export extern false float for friend goto if inline int long mutable namespace new not operator
    or private protected public register requires return short signed sizeof static struct switch template this throw
    true try typedef typename union unsigned using virtual void volatile while xor'''.split())


@dataclasses.dataclass
class Kind:
    name: str
    text: str
    c: str
    large: str                      # empty where the large form has the same type
    fortran: str
    allowed: str
    error: str

    @property
    def pattern(self):
        """Whether `c` is a whole declaration with @ for the name."""
        return '@' in self.c


@dataclasses.dataclass
class Parameter:
    name: str
    kind: Kind
    callback: str
    length: str                     # empty where it is one value
    direction: str                  # in, out, inout
    words: dict                     # of: its value; the others: True

    @property
    def large_only(self):
        return 'large' in self.words


@dataclasses.dataclass
class Function:
    name: str
    text: str
    returns: Kind
    parameters: list
    large: bool
    deprecated: str
    c_only: bool
    later: bool                     # there is no implementation yet
    anytime: bool                   # may be called before MPI_Init and after MPI_Finalize
    quick: bool                     # its small form tries a short way first (quick.hpp)
    line: int

    def forms(self):
        """[(name, parameters, whether it is the large form)]: one, or two where there is a large twin."""
        small = [(self.name, [p for p in self.parameters if not p.large_only], False)]
        return small + [(self.name + '_c', self.parameters, True)] if self.large else small


@dataclasses.dataclass
class Section:
    name: str
    title: str
    functions: list


@dataclasses.dataclass
class Chapter:
    number: int
    title: str
    sections: list


class Api:
    """What the table holds: `kinds` by name, `chapters` with their sections and functions."""

    def __init__(self, path, text, constants):
        self.report, self.constants = reading.Report(path), constants
        self.kinds, self.chapters, self.names = {}, [], {}
        for entry in reading.entries(text, self.report):
            sort = entry.head.split(' ')[0]
            if sort == 'kind':
                self._kind(entry)
            elif sort == 'chapter':
                self._chapter(entry)
            elif sort == 'section':
                self._section(entry)
            elif FUNCTION.match(sort):
                self._function(entry)
            else:
                self.report.fault(entry.line, f'"{sort}" is none of kind, chapter, section, and no function')
        self._clashes()
        self.report.close()

    def functions(self):
        return [f for chapter in self.chapters for section in chapter.sections for f in section.functions]

    def _kind(self, entry):
        name = entry.head.partition(' ')[2]
        if name in self.kinds:
            self.report.fault(entry.line, f'kind {name} is there twice')
        found = {}
        for part in re.split(r'\s{2,}', '  '.join(text for _, text in entry.body)):
            key, equals, value = part.partition('=')
            if key not in KIND_WORDS or not equals:
                self.report.fault(entry.line, f'kind {name}: "{part}" is none of {"=, ".join(KIND_WORDS)}=')
            found[key] = value
        for key in ('c', 'allowed', 'error'):
            if not found.get(key):
                self.report.fault(entry.line, f'kind {name} does not say {key}=')
        kind = Kind(name, entry.text, *(found.get(key, '') for key in KIND_WORDS))
        self._kind_words(entry.line, kind)
        self.kinds[name] = kind

    def _kind_words(self, line, kind):
        for type_ in (kind.c, kind.large):
            bare = re.sub(r'const\? |@|\[\d*\]|\.\.\.|^callback ', ' ', type_)
            if unknown := self.constants.knows_type(re.sub(r'\d', ' ', bare)):
                self.report.fault(line, f'kind {kind.name}: "{unknown}" is no type'
                                  + reading.nearest(unknown, self.constants.types))
        allowed = kind.allowed
        for m in re.finditer(r'\b(?:in|bits) (\w+)', allowed):
            if m[1] not in self.constants.groups:
                self.report.fault(line, f'kind {kind.name}: "{m[1]}" is no group of constants'
                                  + reading.nearest(m[1], self.constants.groups))
        for word in re.sub(r'\b(?:in|bits) \w+', '', allowed).split():
            if word not in ALLOWED and word not in self.constants.constants:
                self.report.fault(line, f'kind {kind.name}: "{word}" is neither a rule nor a constant'
                                  + reading.nearest(word, ALLOWED | set(self.constants.constants)))
        if kind.error and kind.error not in self.constants.constants:
            self.report.fault(line, f'kind {kind.name}: "{kind.error}" is no error class'
                              + reading.nearest(kind.error, self.constants.constants))

    def _chapter(self, entry):
        number = entry.head.partition(' ')[2]
        if not number.isdigit():
            self.report.fault(entry.line, f'"{entry.head}": a chapter has a number')
            number = 0
        if any(c.number == int(number) for c in self.chapters):
            self.report.fault(entry.line, f'chapter {number} is there twice')
        self.chapters.append(Chapter(int(number), entry.text, []))

    def _section(self, entry):
        if not self.chapters:
            self.report.fault(entry.line, f'"{entry.head}" stands in no chapter')
            return
        self.chapters[-1].sections.append(Section(entry.head.partition(' ')[2], entry.text, []))

    def _function(self, entry):
        name, *more = reading.tokens(entry.head)
        if not self.chapters or not self.chapters[-1].sections:
            self.report.fault(entry.line, f'{name} stands in no section')
            return
        if name in self.names:
            self.report.fault(entry.line, f'{name} is there twice; first in line {self.names[name]}')
        if not entry.text.endswith('.'):
            self.report.fault(entry.line, f'{name} has no sentence after a colon')
        said = reading.words(more, FUNCTION_WORDS, entry.line, self.report)
        returns = self._kind_of(entry.line, said.get('returns', 'ERROR_CODE'))
        function = Function(name, entry.text, returns, [], 'large' in said, said.get('deprecated', ''), 'c-only' in said,
                            'later' in said, 'anytime' in said, 'quick' in said, entry.line)
        self._parameters(entry, function)
        self._large(function)
        self.names[name] = entry.line
        self.chapters[-1].sections[-1].functions.append(function)

    def _kind_of(self, line, name):
        if name not in self.kinds:
            self.report.fault(line, f'"{name}" is no kind{reading.nearest(name, self.kinds)}')
        return self.kinds.get(name)

    def _parameters(self, entry, function):
        lengths = []
        for line, text in entry.body:
            for part in text.removesuffix(',').split(', '):
                parameter, length = self._parameter(line, part, function)
                if parameter:
                    function.parameters.append(parameter)
                    lengths.append((line, length))
        for (line, text), more in zip(entry.body, entry.body[1:]):
            if not text.endswith(','):
                self.report.fault(line, f'a comma is missing between this line and line {more[0]}')
        names = [p.name for p in function.parameters]
        for name in sorted({n for n in names if names.count(n) > 1}):
            self.report.fault(entry.line, f'{function.name} has two parameters "{name}"')
        for line, length in lengths:
            self._length(line, length, function, names)
        for line, parameter in zip((line for line, _ in lengths), function.parameters):
            self._rank(line, parameter, function)
        if any('root' in p.words for p in function.parameters) and 'ROOT' not in {p.kind.name for p in function.parameters}:
            self.report.fault(entry.line, f'{function.name} has arguments that count at the root only, and no ROOT')

    def _parameter(self, line, text, function):
        m = PARAMETER.match(text)
        if not m:
            self.report.fault(line, f'"{text}" is no parameter: name: KIND[=CALLBACK][[LENGTH]] [words]')
            return None, ''
        name, kind, callback, length, more = m.groups()
        kind = self._kind_of(line, kind)
        said = reading.words(more.split(), PARAMETER_WORDS, line, self.report)
        if not kind:
            return None, ''
        if name in CXX_WORDS:
            self.report.fault(line, f'"{name}" is a word of C++')
        if kind.c.startswith('callback ') != bool(callback):
            self.report.fault(line, f'{name}: {kind.name} takes {"the name of a callback" if not callback else "no callback"}')
        if callback and callback not in self.constants.types:
            self.report.fault(line, f'"{callback}" is no callback{reading.nearest(callback, self.constants.types)}')
        if {'out', 'inout'} <= said.keys():
            self.report.fault(line, f'{name} is both out and inout')
        if 'large' in said and not function.large:
            self.report.fault(line, f'{name} is of the large form only, but {function.name} has none')
        direction = 'out' if 'out' in said else 'inout' if 'inout' in said else 'in'
        words = {word: value for word, value in said.items() if word not in ('out', 'inout')}
        parameter = Parameter(name, kind, callback or '', length or '', direction, words)
        self._parameter_words(line, parameter)
        return parameter, parameter.length

    def _parameter_words(self, line, parameter):
        kind, words = parameter.kind, parameter.words
        value = not kind.pattern and not parameter.length and parameter.direction == 'in'
        if 'null' in words and value and kind.allowed != 'handle':
            self.report.fault(line, f'{parameter.name}: a {kind.name} by value cannot be null')
        if 'inplace' in words and kind.allowed != 'buffer':
            self.report.fault(line, f'{parameter.name}: inplace is for data, not for {kind.name}')
        if kind.allowed == 'buffer' and not parameter.length:
            self.report.fault(line, f'{parameter.name}: a {kind.name} says in brackets how much it is, or *')

    def _length(self, line, length, function, names):
        for word in length.split():
            m = re.match(r'(\w+)\((\w+)\)$', word)
            if m and m[1] not in LENGTH_CALLS and word != 'until(NULL)':
                self.report.fault(line, f'"{m[1]}" is no way to tell a length{reading.nearest(m[1], LENGTH_CALLS)}')
            name = m[2] if m else word
            if word not in ('*', 'until(NULL)') and name not in names and name not in self.constants.constants:
                self.report.fault(line, f'"{name}" is no parameter of {function.name}{reading.nearest(name, names)}')

    def _rank(self, line, parameter, function):
        """A rank that the call reads must belong to one thing."""
        of = parameter.words.get('of')
        if of and of not in {p.name for p in function.parameters}:
            self.report.fault(line, f'"{of}" is no parameter of {function.name}')
        ranked = [p.name for p in function.parameters if p.kind.name in RANKED and p.direction == 'in' and not p.length]
        is_rank = parameter.kind.allowed.partition(' ')[0] in ('rank', 'root') and parameter.direction != 'out'
        if is_rank and not of and len(ranked) != 1:
            self.report.fault(line, f'{parameter.name} is a rank of {" or ".join(ranked) or "nothing"}; say which: of=')
        if of and not is_rank:
            self.report.fault(line, f'{parameter.name}: of= is for ranks, not for {parameter.kind.name}')
        counts = next((p for p in function.parameters if p.name == parameter.words.get('counted-by')), None)
        if 'counted-by' in parameter.words and (not counts or not counts.length or counts.length != parameter.length):
            self.report.fault(line, f'{parameter.name}: counted-by= names an array of the same length')
        if 'committed' in parameter.words and parameter.kind.name != 'DATATYPE':
            self.report.fault(line, f'{parameter.name}: committed is for a DATATYPE, not for {parameter.kind.name}')

    def _large(self, function):
        wide = any(p.kind.large or p.large_only or self.constants.callback(p.callback, True) != p.callback
                   for p in function.parameters)
        if function.large and not wide:
            self.report.fault(function.line, f'{function.name} has a large twin, but none of its parameters is wide')
        if wide and not function.large:
            self.report.fault(function.line, f'{function.name} has a parameter with a large form, but no large twin')

    def _clashes(self):
        for function in self.functions():
            for name, _, large in function.forms():
                if large and name in self.names:
                    self.report.fault(self.names[name], f'{name} is the large twin of {function.name}; it is generated')


def read(path, constants):
    return Api(path.name, path.read_text(), constants)
