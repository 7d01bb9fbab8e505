"""Tests of the manual's pages: what they must hold, planted faults, their checks against those of the entry points, their roff."""
import pathlib
import re
import shutil
import subprocess
import tempfile

import entries
import reference

# (function of test_generate's small table, lines of its page)
LINES = [
    ('MPI_Send', ['.TH MPI_Send 3 "" "mpt" "MPI"', 'MPI_Send, MPI_Send_c \\- Sends.',
                  'int \\fBMPI_Send_c\\fR(const void *buf, MPI_Count count, MPI_Datatype datatype,', '\\fIbuf\\fR (in)',
                  'Data. Length: \\fIcount\\fR elements of \\fIdatatype\\fR. Allowed: a null pointer only for no data, or where the '
                  'displacements of \\fIdatatype\\fR are addresses (\\fBMPI_BOTTOM\\fR).',
                  'A datatype. Allowed: the handle of a living object. It must be committed (\\fBMPI_Type_commit\\fR).',
                  'A rank, or nobody. Allowed: a rank of \\fIcomm\\fR, of its remote group where there is one; or \\fBMPI_PROC_NULL\\fR.',
                  '\\fIcount\\fR is negative.', 'Called before \\fBMPI_Init\\fR or after \\fBMPI_Finalize\\fR.',
                  'MPI\\-5.0, chapter 3: Messages.', '.BR MPI_Gather (3) ,']),
    ('MPI_Gather', ['\\fIrecvbuf\\fR (out)',
                    'Array; each element: how many elements. Length: one for each process of \\fIcomm\\fR, of the remote group where there '
                    'is one. Allowed, each: not negative. Counts at the root only.',
                    '\\fIsendcount\\fR or an element of \\fIrecvcounts\\fR is negative.',
                    'How many elements. Allowed: not negative. Does not count where \\fIsendbuf\\fR is \\fBMPI_IN_PLACE\\fR.']),
    ('MPI_Size', ['Hints. Allowed: the handle of a living object; or \\fBMPI_INFO_NULL\\fR.', '\\fIsize\\fR (out)',
                  '\\fIsize\\fR is a null pointer.',
                  '\\fBMPI_Size_c\\fR takes wide counts. May be called before \\fBMPI_Init\\fR and after \\fBMPI_Finalize\\fR. A profiling '
                  'tool that replaces \\fBMPI_Size\\fR reaches it as \\fBPMPI_Size\\fR.']),
    ('MPI_Free', ['Array; each element: what became of an operation. Length: \\fIn\\fR. \\fBMPI_STATUSES_IGNORE\\fR where it is not '
                  'wanted.', 
                  '\\fIrequest\\fR is a null pointer; \\fIn\\fR is negative; \\fIkind\\fR is none of these constants.']),
    ('MPI_Near', ['Data. Length: \\fIcount\\fR elements of \\fIdatatype\\fR. Allowed: a null pointer only for no data, or where the '
                  'displacements of \\fIdatatype\\fR are addresses (\\fBMPI_BOTTOM\\fR). Counts where this process has neighbours to '
                  'receive from.', 'Array; each element: how many elements. Length: one for each neighbour of \\fIcomm\\fR that this '
                  'process sends to. Allowed, each: not negative.']),
    ('MPI_Wtime', ['double \\fBMPI_Wtime\\fR(void);', '.SH RETURN VALUE', 'A time.']),
    ('MPI_Wait', ['Always: not yet supported by mpt.', '\\fIcomm\\fR is no handle of a living object.'])]
CLASSES = {'not_null': 'MPI_ERR_ARG', 'committed': 'MPI_ERR_TYPE', 'data': 'MPI_ERR_BUFFER'}


def part(page, title):
    return page.partition(f'.SH {title}\n')[2].partition('\n.SH ')[0]


def missing(function, page):
    """What a page does not say: arguments, forms, and errors that the entry points' checks give."""
    entry = entries.Entry(function, function.constants)
    told = re.findall(r'^\\fI(\w+)\\fR \(', part(page, 'ARGUMENTS'), re.MULTILINE)
    if told != [p.name for p in entry.params]:
        yield f'{function.name}: arguments {told}'
    yield from (f'{function.name}: no {form[0]}' for form in function.forms() if f'\\fB{form[0]}\\fR(' not in part(page, 'SYNOPSIS'))
    if function.later or function.returns.name != 'ERROR_CODE':
        return
    classes = dict(re.findall(r'^\.TP\n\\fB(\w+)\\fR\n(.*)$', part(page, 'ERRORS'), re.MULTILINE))
    lines = '\n'.join(entry.checked() + entry.body(function.name, False))
    for check, argument in re.findall(r'\bon\.(\w+)\([^";]*"(\w+)"', re.sub(r'"MPI_\w+[^"]*", ', '', lines)):
        code = entry.error(CLASSES.get(check, entry.by_name[argument].kind.error))
        if f'\\fI{argument}\\fR' not in classes.get(code, ''):
            yield f'{function.name}: {check} of {argument} gives {code}, which the page does not say'


def judged(api, constants):
    """Every page of a table."""
    pages = reference.pages(api, constants)
    for function in api.functions():
        function.constants = constants
        yield from missing(function, pages[f'{function.name}.3'])


def planted(api, constants):
    """A page that lacks something is found."""
    gather = next(f for f in api.functions() if f.name == 'MPI_Gather')
    gather.constants = constants
    page = reference.pages(api, constants)['MPI_Gather.3']
    for what, old, new in [('an argument', '\\fIdispls\\fR (in)', 'displs'), ('an error', '\\fBMPI_ERR_ROOT', '\\fBMPI_ERR_RANK'),
                           ('an argument of an error', 'an element of \\fIrecvcounts\\fR', 'no'), ('a form', '\\fBMPI_Gather_c\\fR(', '(')]:
        if old not in page:
            yield f'the page of MPI_Gather lacks "{old}"'
        elif not list(missing(gather, page.replace(old, new, 1))):
            yield f'a page without {what}: not found'


def lines(api, constants):
    pages = reference.pages(api, constants)
    yield from (f'the page of {name} lacks "{line}"' for name, wanted in LINES for line in wanted
                if line not in pages[f'{name}.3'].splitlines())
    if (got := reference.escaped("a\\b-c\n.d\n'e")) != "a\\eb\\-c\n\\&.d\n\\&'e":
        yield f'escaped for roff: {got}'


def roff(pages):
    """What groff says of all pages; one with an unknown request is planted and must be found."""
    if not shutil.which('groff'):
        return
    with tempfile.TemporaryDirectory() as folder:
        for name, text in pages.items():
            (pathlib.Path(folder) / name).write_text(text)
        (pathlib.Path(folder) / 'planted.3').write_text('.TH PLANTED 3\n.nonsense\n')
        for files, expected in (sorted(pages), False), (['planted.3'], True):
            said = subprocess.run(['groff', '-man', '-Tutf8', '-ww', '-z', *files], cwd=folder, capture_output=True, text=True).stderr
            if bool(said) != expected:
                yield f'groff says of {len(files)} pages: {said or "nothing"}'


def wrong(small, real):
    """The faults of pages of test_generate's small table and of the real one."""
    return [*lines(*small), *planted(*small), *judged(*real), *roff(reference.pages(*real))]
