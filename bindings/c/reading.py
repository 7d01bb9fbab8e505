"""Reading the tables: entries of one line with lines under it, words with values, and faults that name file, line and word."""
import dataclasses
import difflib
import re

WORD = re.compile(r'([\w-]+)(?:=("[^"]*"|\S+))?$')


class Faults(Exception):
    """Everything that is wrong with a table, one sentence each."""


class Report:
    """Collects faults, so that one run names all of them."""

    def __init__(self, path):
        self.path = path
        self.faults = []

    def fault(self, line, sentence):
        self.faults.append(f'{self.path}:{line}: {sentence}')

    def close(self):
        if self.faults:
            raise Faults('\n'.join(self.faults))


@dataclasses.dataclass
class Entry:
    """A line at the margin and the indented lines below it."""
    line: int
    head: str                       # what stands before the first colon and blank
    text: str                       # what stands after it
    body: list = dataclasses.field(default_factory=list)     # [(line, what it says)]


def split_text(line):
    """('MPI_X 1', 'why') of 'MPI_X 1: why'. A quoted colon does not count."""
    m = re.match(r'((?:[^":]|"[^"]*"|:(?! |$))*)(?:: ?(.*))?$', line)
    return (m[1].strip(), (m[2] or '').strip()) if m else (line.strip(), '')


def entries(text, report):
    """The entries of a table, in its order."""
    found = []
    for n, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith('#'):
            continue
        if '\t' in line:
            report.fault(n, 'has a tab; the tables are written with spaces')
        if line[0] != ' ':
            found.append(Entry(n, *split_text(line)))
        elif found:
            found[-1].body.append((n, line.strip()))
        else:
            report.fault(n, f'"{line.strip()}" is indented, but stands under nothing')
    return found


def nearest(word, known):
    """'; the nearest is X', or nothing."""
    match = difflib.get_close_matches(word, list(known), 1)
    return f'; the nearest is {match[0]}' if match else ''


def words(tokens, known, line, report):
    """{word: value or True}. `known` says for each word whether it takes a value."""
    found = {}
    for token in tokens:
        m = WORD.match(token)
        name = m[1] if m else token
        if not m or name not in known:
            report.fault(line, f'"{token}" is no word here{nearest(name, known)}')
        elif (m[2] is not None) != known[name]:
            report.fault(line, f'"{token}": {name} takes {"a value" if known[name] else "no value"}')
        elif name in found:
            report.fault(line, f'"{name}" stands here twice')
        else:
            found[name] = m[2].strip('"') if m[2] else True
    return found


def tokens(text):
    """Words separated by blanks; a quoted value may hold blanks."""
    return re.findall(r'(?:[^\s"]|"[^"]*")+', text)
