"""The types and constants of the C interface: mpi_constants.tbl, read and checked."""
import dataclasses
import re

import reading

BUILT_IN = {'int', 'double', 'char', 'void', 'const', 'intptr_t', 'int64_t'}
FIELD_SIZE = {'int': 4}
NAME = re.compile(r'MPIX?_\w+$')


@dataclasses.dataclass
class Type:
    """A handle (of: the tag of its struct), an integer type (of: its C type) or a callback (of: what it returns)."""
    name: str
    of: str
    text: str
    parameters: str = ''


@dataclasses.dataclass
class Field:
    name: str
    type: str
    offset: int
    elements: int
    text: str


@dataclasses.dataclass
class Constant:
    name: str
    value: int
    text: str
    line: int
    alias: str = ''                 # the constant that this is another name of
    c: str = ''                     # the C type or types that a datatype stands for
    fortran: str = ''
    deprecated: str = ''


@dataclasses.dataclass
class Group:
    name: str
    form: str                       # enum, macro, or the C type that values are cast to
    enum: str                       # the name of the enumeration, where it has one
    title: str
    line: int
    constants: list


class Constants:
    """What the table holds: `parts` in the table's order, and the same by name."""

    def __init__(self, path, text):
        self.report = reading.Report(path)
        self.parts, self.types, self.groups, self.constants = [], {}, {}, {}
        self.status, self.fields = '', []
        readers = {'handle': self._type, 'integer': self._type, 'callback': self._type, 'status': self._status,
                   'group': self._group}
        for entry in reading.entries(text, self.report):
            sort = entry.head.split(' ')[0]
            if sort not in readers:
                self.report.fault(entry.line, f'"{sort}" is none of {", ".join(readers)}{reading.nearest(sort, readers)}')
                continue
            if not entry.text:
                self.report.fault(entry.line, f'"{entry.head}" has no text after a colon')
            readers[sort](entry)
        self.report.close()

    def callback(self, name, large):
        """The callback type that a function's form takes: the large form takes NAME_c, where there is one."""
        return name + '_c' if large and name + '_c' in self.types else name

    def of_sort(self, sort):
        return [part for kind, part in self.parts if kind == sort]

    def knows_type(self, declaration):
        """None, or the word of a declaration's type that nobody declared."""
        known = BUILT_IN | set(self.types) | {self.status} | {g.enum for g in self.groups.values()}
        return next((w for w in re.findall(r'\w+', declaration) if w not in known), None)

    def _type(self, entry):
        sort, *rest = reading.tokens(entry.head)
        if len(rest) != 2:
            self.report.fault(entry.line, f'"{entry.head}": {sort} takes a name and one more word')
            return
        name, of = rest
        if name in self.types:
            self.report.fault(entry.line, f'{name} is declared twice')
        parameters = ' '.join(text for _, text in entry.body)
        if sort == 'callback':
            self._callback_parameters(entry, parameters)
        elif entry.body:
            self.report.fault(entry.body[0][0], f'"{entry.body[0][1]}": nothing stands below a {sort}')
        self.types[name] = Type(name, of, entry.text, parameters)
        self.parts.append((sort, self.types[name]))

    def _callback_parameters(self, entry, parameters):
        if not parameters:
            self.report.fault(entry.line, f'"{entry.head}": a callback has its parameters below it')
        for parameter in parameters.split(', '):
            if parameter == '...':
                continue
            type_ = re.sub(r'\w+$', '', parameter)
            if unknown := self.knows_type(type_):
                self.report.fault(entry.line, f'"{unknown}" is no type{reading.nearest(unknown, self.types)}')

    def _status(self, entry):
        self.status = entry.head.split(' ')[-1]
        for line, text in entry.body:
            head, comment = reading.split_text(text)
            m = re.match(r'(\w+) (\w+) (\d+)(?: elements=(\d+))?$', head)
            if not m:
                self.report.fault(line, f'"{head}" is no field: NAME C-TYPE OFFSET[ elements=N]')
                continue
            field = Field(m[1], m[2], int(m[3]), int(m[4] or 1), comment)
            if field.offset != (end := sum(FIELD_SIZE.get(f.type, 0) * f.elements for f in self.fields)):
                self.report.fault(line, f'{field.name} is at {field.offset} here, but what stands before it ends at {end}')
            if field.type not in FIELD_SIZE:
                self.report.fault(line, f'"{field.type}": a field of a status is an int')
            self.fields.append(field)
        self.parts.append(('status', self))

    def _group(self, entry):
        _, name, form, *more = (entry.head + ' - -').split(' ')
        enum = more[0] if form == 'enum' and more[0] != '-' else ''
        type_ = form.rstrip('*')
        if form not in ('enum', 'macro') and (unknown := self.knows_type(type_)):
            self.report.fault(entry.line, f'"{unknown}" is no type{reading.nearest(unknown, self.types)}')
        if name in self.groups:
            self.report.fault(entry.line, f'group {name} is there twice')
        group = Group(name, form, enum, entry.text, entry.line, [])
        for line, text in entry.body:
            self._constant(group, line, text)
        if not group.constants:
            self.report.fault(entry.line, f'group {name} is empty')
        self.groups[name] = group
        self.parts.append(('group', group))

    def _constant(self, group, line, text):
        head, comment = reading.split_text(text)
        name, value, *more = (reading.tokens(head) + ['', ''])[:2] + reading.tokens(head)[2:]
        if not NAME.match(name):
            self.report.fault(line, f'"{name}" is no name of a constant')
            return
        if name in self.constants:
            self.report.fault(line, f'{name} is there twice; first in line {self.constants[name].line}')
            return
        known = reading.words(more, {'c': True, 'fortran': True, 'deprecated': True}, line, self.report)
        number = self._value(name, value, line)
        if not comment and not known.keys() & {'c', 'fortran'}:
            self.report.fault(line, f'{name} has no text after a colon')
        if number is None:
            return
        constant = Constant(name, number, comment, line, value if value in self.constants else '', **known)
        self.constants[name] = constant
        group.constants.append(constant)

    def _value(self, name, value, line):
        if value in self.constants:
            return self.constants[value].value
        if re.match(r'-?\d+$|0x[0-9a-f]+$', value):
            return int(value, 0)
        self.report.fault(line, f'{name}: "{value}" is no integer and no constant above'
                          + reading.nearest(value, self.constants))
        return None


def read(path):
    return Constants(path.name, path.read_text())
