"""Writes the manual pages docs/man/pydtrace.1 and pyusdt.1: of a page of docs/reference each, with the options of the commands' own tables.

Input: docs/reference/*.md, pydtrace.cli.
Output: the pages, in man(7). `docs/make_man.py --print NAME` prints one.

- What Markdown the two pages use is understood (headings of two levels, paragraphs, lists of one level, tables,
  fenced blocks; code, bold, links); a line of another kind is a paragraph's.
"""

import os
import re
import sys

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
NAMES = {
    "pydtrace": "trace Python and Erlang programs with scripts in D",
    "pyusdt": "tell what there is to trace",
}
_SEE_ALSO = "pydtrace(1), pyusdt(1), dtrace(1), bpftrace(8), perf(1)"


# --- man(7) ---------------------------------------------------------------------------------


def escaped(text):
    """Text as roff shows it: backslashes, dashes that may be copied to a command line, and what would begin a request or a string."""
    text = (
        text.replace("\\", "\\e")
        .replace("-", "\\-")
        .replace("'", "\\(aq")
        .replace("`", "\\(ga")
        .replace("^", "\\(ha")
        .replace("~", "\\(ti")
    )
    text = re.sub(r"[^\x00-\x7f]", lambda match: f"\\[u{ord(match[0]):04X}]", text)
    return f"\\&{text}" if text.startswith(".") else text


_SPAN = re.compile(r"`([^`]+)`|\*\*(.+?)\*\*|\[([^]]+)\]\(([^)]+)\)")
_PAGE = re.compile(r"(?:[./a-z]*/)?([\w-]+)\.md(?:#.*)?")


def linked(words, target):
    """A link: a page of the guide is named as the command that shows it, since an installation does not have docs/."""
    page = _PAGE.fullmatch(target)
    if not page or "internals/" in target:
        return inline(words)
    command = f"\\fBpyusdt help \\%{escaped(page[1])}\\fR"  # \\%: not hyphenated
    return command if words == page[1] else f"{inline(words)} ({command})"


def inline(text):
    """A paragraph's text: code and bold are bold."""
    out, at = [], 0
    for match in _SPAN.finditer(text):
        code, bold, words, target = match.groups()
        if words is not None:
            shown = linked(words, target)
        else:
            shown = f"\\fB{escaped(code) if code is not None else inline(bold)}\\fR"
        out += [escaped(text[at : match.start()]), shown]
        at = match.end()
    whole = "".join([*out, escaped(text[at:])])
    return f"\\&{whole}" if whole.startswith("\\(aq") else whole


def cells(row):
    """Of a row of a table; \\| in a cell is a bar."""
    return [
        cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", row.strip().strip("|"))
    ]


def table(lines):
    """Each row is a paragraph with its first cell as the tag."""
    for row in lines[2:]:
        tag, *rest = cells(row)
        yield f".TP\n{inline(tag)}\n{inline(': '.join(rest))}"


def fenced(lines):
    return "\n".join([".PP", ".RS 4", ".EX", *map(escaped, lines), ".EE", ".RE"])


def block(lines):
    """A paragraph, a list's point, or a table."""
    if lines[0].startswith("|"):
        yield from table(lines)
        return
    for point in re.split(r"\n(?=- )", "\n".join(lines)):
        text = " ".join(line.strip() for line in point.removeprefix("- ").splitlines())
        yield (".IP \\(bu 2\n" if point.startswith("- ") else ".PP\n") + inline(text)


def roff(markdown):
    """The body of a page; its first heading is left out, and what a comment says to the tests."""
    out, paragraph, code = [], [], None
    for line in [*markdown.splitlines(), ""]:
        if code is not None:
            if line.startswith("```"):
                out.append(fenced(code))
                code = None
            else:
                code.append(line)
        elif line.startswith("<!-- "):
            continue
        elif line.startswith(("```", "#")) or not line:
            out += block(paragraph) if paragraph else []
            paragraph = []
            if line.startswith("```"):
                code = []
            elif line.startswith("## "):
                out.append(f".SH {escaped(line[3:].upper())}")
            elif line.startswith("### "):
                out.append(f".SS {escaped(line[4:])}")
        else:
            paragraph.append(line)
    return re.sub(
        r"^(\.S[HS] .*)\n\.PP$", r"\1", "\n".join(out).removeprefix(".PP\n"), flags=re.MULTILINE
    )


def tagged(rows):
    """Options: (as written, what it does)."""
    return "\n".join(f".TP\n\\fB{escaped(shown)}\\fR\n{escaped(words)}" for shown, words in rows)


# --- the pages ------------------------------------------------------------------------------


def pydtrace_options():
    from pydtrace.cli.parsing.options_table import DTRACE_OPTIONS, PYDTRACE_OPTIONS

    return tagged(
        (each.synopsis, each.help) for each in (*DTRACE_OPTIONS, *PYDTRACE_OPTIONS) if each.help
    )


def pyusdt_options():
    from pydtrace.cli.commands.main import COMMANDS

    rows = []
    for name, command in COMMANDS.items():
        for each in command.make_parser()._actions if command.help else ():
            shown = ", ".join(each.option_strings) or each.metavar or each.dest.upper()
            rows.append((f"{name} {shown}", each.help))
    return tagged(rows)


def synopsis(name):
    if name == "pyusdt":
        return ".B pyusdt\n.I COMMAND\n\\&..."
    from pydtrace.cli.pydtrace.usage import SYNOPSIS

    return "\n".join(
        [".nf", *map(escaped, f"pydtrace {SYNOPSIS}".expandtabs(8).rstrip().splitlines()), ".fi"]
    )


def page(name):
    """The text of one."""
    with open(os.path.join(TOP, "docs", "reference", f"{name}.md"), encoding="utf-8") as file:
        guide = file.read()
    options = {"pydtrace": pydtrace_options, "pyusdt": pyusdt_options}[name]()
    parts = [f".\\\" Made by docs/make_man.py of docs/reference/{name}.md.", f'.TH {name.upper()} 1 "" pyusdt "User Commands"',
             f".SH NAME\n{name} \\- {NAMES[name]}", f".SH SYNOPSIS\n{synopsis(name)}", f".SH DESCRIPTION\n{roff(guide)}",
             f".SH OPTIONS\n{options}", f".SH SEE ALSO\n{_SEE_ALSO}"]  # fmt: skip
    return "\n".join(parts) + "\n"


def main(arguments):
    sys.path.insert(0, os.path.join(TOP, "src"))
    if arguments[:1] == ["--print"]:
        print(page(arguments[1]), end="")
        return
    for name in NAMES:
        with open(os.path.join(TOP, "docs", "man", f"{name}.1"), "w", encoding="utf-8") as file:
            file.write(page(name))


if __name__ == "__main__":
    main(sys.argv[1:])
