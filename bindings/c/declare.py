"""How the functions of the table are declared in C."""
import re


def parameter(p, large, constants):
    """(type, name) of a parameter; the type with an array's brackets at its end: ('const int []', 'x')."""
    kind = p.kind
    type_ = kind.large if large and kind.large else kind.c
    if p.callback:
        type_ = type_.replace('callback', constants.callback(p.callback, large))
    if kind.pattern:
        type_ = type_.replace('const? ', 'const ' if p.direction == 'in' else '').replace('@', '')
    elif type_ != '...':
        type_ = ('const ' if p.length and p.direction == 'in' else '') + type_
        type_ += ' []' if p.length else '' if p.direction == 'in' else ' *'
    return spaced(type_), p.name


def spaced(type_):
    """One way of blanks: 'const char *', 'int [][3]', 'char ** []'."""
    base, stars, brackets = re.match(r'([^*[]*)([* ]*)(.*)$', type_).groups()
    return ' '.join(x for x in (base.strip(), stars.replace(' ', ''), brackets) if x)


def joined(type_, name):
    """`const int []` and `x` as C writes them: `const int x[]`."""
    if type_ == '...':
        return type_
    base, bracket, length = type_.partition(' [')
    between = '' if base.endswith('*') else ' '
    return base + between + name + (bracket.strip() + length if bracket else '')


def parameters(form, constants):
    """[(type, name)] of one form of a function."""
    _, params, large = form
    return [parameter(p, large, constants) for p in params]


def prototype(returns, form, constants, prefix=''):
    """`int MPI_X(int a, void *b);`"""
    inside = ', '.join(joined(*pair) for pair in parameters(form, constants)) or 'void'
    return f'{returns} {prefix}{form[0]}({inside});'


def wrapped(line, width=128):
    """A prototype over several lines, broken after commas, and after the bracket where a first parameter is too long."""
    out = []
    while len(line) > width and (cut := line.rfind(', ', 0, width) + 1 or line.find('(') + 1):
        out.append(line[:cut])
        line = '    ' + line[cut:].lstrip()
    return '\n'.join(out + [line])
