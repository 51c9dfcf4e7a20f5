"""pyusdt: what there is to trace, and what keeps it from working.

In: the command line.  Out: text; exit status 0, 1 for a failure, 2 for wrong usage.
Always: the commands (found.py, doctor.py) return plain records, the reporters here make text of them, only main()
exits.
"""

import argparse
import json
import sys

from ..data.harmless import harmless
from ..report.output import OutputError, show
from . import streams

PROGRAM = "pyusdt"


class Failure(Exception):
    """The end, with exit status 1; the message is for the user."""


# --- reporters -----------------------------------------------------------------------------


def columns(rows):
    """Lines of text; each column as wide as its longest cell, the last one as it is."""
    if not rows:
        return ""
    rows = [[harmless(cell) for cell in row] for row in rows]  # names are their files'
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]) - 1)]
    lines = ([cell.ljust(width) for cell, width in zip(row, widths, strict=False)] + [row[-1]] for row in rows)
    return "".join("  ".join(cells).rstrip() + "\n" for cells in lines)


def probe_text(probes):
    """probes: found.Found objects."""
    rows = [("PROVIDER", "PROBE", "ON", "MODULE", "ARGUMENTS")]
    rows += [(each.provider, each.name, each.state, each.module, each.arguments) for each in probes]
    return columns(rows)


def probe_json(probes):
    """The same for programs: an object a line.  Names are as they are: JSON escapes control characters."""
    fields = ("provider", "name", "module", "state", "arguments")
    return "".join(json.dumps({field: getattr(each, field) for field in fields}) + "\n" for each in probes)


MARKS = {True: "ok", False: "NO", None: "--"}


def finding_text(findings):
    """findings: doctor.Finding objects: what was found, and below it what to do."""
    width = max(len(each.subject) for each in findings)
    lines = []
    for each in findings:
        lines.append(f"{MARKS[each.good]}  {each.subject.ljust(width)}  {harmless(each.text)}\n")
        if each.advice:
            lines.append(f"    {' ' * width}  -> {each.advice}\n")
    return "".join(lines)


# --- commands ------------------------------------------------------------------------------


def list_command(options):
    from . import found

    try:
        if options.file is not None:
            probes = found.in_file(options.file)
        else:
            probes = found.in_process(options.pid) if options.pid is not None else found.published()
    except found.NotFound as error:
        raise Failure(error) from None
    if not probes:  # of a file or a process: without either, this process has some
        raise Failure(f"no USDT probes in {options.file or f'process {options.pid}'}")
    if options.json:
        show(probe_json(probes))
    else:
        show(probe_text(probes if options.all else found.folded(probes)))
    return 0


def doctor_command(options):
    from . import doctor

    findings = doctor.here() + (doctor.process(options.pid) if options.pid is not None else [])
    show(finding_text(findings))
    return 1 if any(each.good is False for each in findings) else 0


def stub_command(options):
    from ..provider_file import stub

    path = options.output or f"{options.file.removesuffix('.d')}.pyi"
    try:
        text = stub(options.file)
        if path == "-":
            show(text)
        else:
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
    except OSError as error:
        raise Failure(f"{error.filename or path}: {error.strerror}") from None
    except ValueError as error:
        raise Failure(error) from None
    return 0


class Version(argparse.Action):
    """--version; what it shows takes time to find out."""

    def __call__(self, parser, namespace, values, option_string=None):
        from .usage import versions

        show(versions())
        parser.exit()


def parser():
    made = argparse.ArgumentParser(prog=PROGRAM, description="What there is to trace, and what keeps it from working.")
    made.add_argument("--version", action=Version, nargs=0, help="show pyusdt's version and that of D")
    commands = made.add_subparsers(required=True, metavar="COMMAND")
    each = commands.add_parser("list", help="the USDT probes of a process, a file, or all processes with pyusdt")
    what = each.add_mutually_exclusive_group()
    what.add_argument("-p", "--pid", type=int, help="a process, any: with pyusdt in it or not")
    what.add_argument("file", nargs="?", metavar="FILE", help="an ELF file, any: a program, a library, an extension")
    each.add_argument("-a", "--all", action="store_true", help="a line for every probe: user_trace-n0, user_trace-n1 …")
    each.add_argument("--json", action="store_true", help="an object of JSON for every probe, a line each")
    each.set_defaults(run=list_command)
    each = commands.add_parser("doctor", help="what works here, what does not, and what to do about it")
    each.add_argument("-p", "--pid", type=int, help="a process that is to be traced")
    each.set_defaults(run=doctor_command)
    each = commands.add_parser("stub", help="write the Python stub of a provider file, for pyusdt.load()")
    each.add_argument("file", metavar="FILE", help="shop.d")
    each.add_argument("-o", "--output", help="where to; default: shop.pyi beside it; - is the standard output")
    each.set_defaults(run=stub_command)
    return made


def main():
    streams.settle()
    options = parser().parse_args()
    try:
        status = options.run(options)
    except (Failure, OutputError) as error:
        print(f"{PROGRAM}: {error}", file=sys.stderr)
        status = 1
    except BrokenPipeError:
        status = 1
    sys.exit(status)


if __name__ == "__main__":
    main()
