"""Writes docs/reference/errors.md: each tag of an error message, its meaning, an example and what to do.

Input: pydtrace.dlang.compile_errors.TAGS, docs/error_entries.py, tests/dlang/cases/err.
Output: the page. `docs/make_errors.py --print` prints it.

- The compiler reads each example; its message is in the page. A change of a message needs a new page.
"""

import os
import runpy
import shlex
import sys
import textwrap
from pathlib import Path

TOP = Path(__file__).resolve().parents[1]
PAGE = TOP / "docs" / "reference" / "errors.md"
CASES = TOP / "tests" / "dlang" / "cases" / "err"
HEAD = """\
<!-- Made by docs/make_errors.py from compile_errors.TAGS and docs/error_entries.py: edit those. -->

# Errors by their tags

pydtrace names the kind of each error of a script by a tag in brackets, such as `[D_SYNTAX]`.
`pyusdt help D_SYNTAX` shows the entry of a tag. The tags are those of dtrace, except for `D_UNSUPPORTED` and
`D_ARGS_NAME`.

An error has up to five parts:

| part | what it says |
| --- | --- |
| the first line | the message of dtrace, with the clause or the script |
| `-n:1:9: [TAG]` | the place: file (or `-n`), line and column, and the tag |
| a line of the script | the source line |
| `^^^^` | the part of it that is wrong |
| `hint: …` | what to do |

"""
_FREQUENT = (
    "D_PDESC_ZERO",
    "D_SYNTAX",
    "D_IDENT_UNDEF",
    "D_MACRO_UNDEF",
    "D_PROTO_LEN",
    "D_PROTO_ARG",
    "D_ARGS_NAME",
    "D_OP_INCOMPAT",
    "D_UNSUPPORTED",
)
_LINE = 10  # links of a line of the index
_LONGEST = 200  # characters of an example from the test cases


def entries():
    return runpy.run_path(str(TOP / "docs" / "error_entries.py"))


def compile_error(text, arguments=()):
    """The CompileError of a program; None if it compiles."""
    from pydtrace.dlang.compile import compile_program
    from pydtrace.dlang.compile_errors import CompileError

    try:
        compile_program(text, None, macros={"target": 1234}, arguments=["pydtrace", *arguments])
    except CompileError as error:
        return error
    return None


def probe_error(text, hint, size):
    """The CompileError of a program whose description no probe of process 1234 matches."""
    from pydtrace.dlang.compile import compile_program
    from pydtrace.dlang.front.probe_descriptions import unmatched_error

    program = compile_program(text, None, macros={"target": 1234}, arguments=["pydtrace"])
    (description,) = program.clauses[0].probes
    return unmatched_error(description, hint, {description: size})


def function_error(text, module, name, variables):
    """The CompileError of a program about a function of process 1234."""
    from pydtrace.dlang.compile import Compiler
    from pydtrace.dlang.compile_errors import CompileError
    from pydtrace.remote_python.module_functions import ModuleFunction

    function = ModuleFunction(module, name, "", 1, variables, [])
    compiler = Compiler(None, {"target": 1234}, ["pydtrace"])
    compiler.names.find_functions = lambda _: [(1234, function)]
    try:
        compiler.compile_text(text)
    except CompileError as error:
        return error
    return None


def recording_error(text, recorded):
    """The CompileError of a program over the recording of another one."""
    from pydtrace.dlang.compile import Compiler, compile_program
    from pydtrace.dlang.compile_errors import CompileError

    macros = {"target": 1234}
    compiler = Compiler(None, macros, ["pydtrace"])
    compiler.use_recording(b"".join(compile_program(recorded, None, macros=macros).paths))
    try:
        compiler.compile_text(text)
    except CompileError as error:
        return error
    return None


def case_of(tag):
    """The shortest program among the test cases that fails with this tag."""
    files = sorted(CASES.rglob(f"err.{tag}.*.d"), key=lambda path: (path.stat().st_size, path.name))
    for path in files:
        text = path.read_text(encoding="utf-8", errors="replace").strip()
        error = compile_error(text)
        if error and error.tag == tag and len(text) <= _LONGEST and text.isprintable():
            return text
    for path in files:
        text = path.read_text(encoding="utf-8", errors="replace").strip()
        error = compile_error(text)
        if error and error.tag == tag:
            return text
    raise LookupError(
        f"{tag}: no case fails with it alone: add an example to docs/error_entries.py"
    )


def shown_error(error):
    """The message as the user reads it, without the clause in front and the repeated source."""
    return "\n".join([error.message, *([f"hint: {error.hint}"] if error.hint else [])])


def shorten(text):
    return text if len(text) < 400 else f"{text[:120]} … {text[-30:]}"


def entry(tag, meaning, told):
    """The section of one tag."""
    language = "sh"
    if tag in told["PROBES"]:
        words, hint, size = told["PROBES"][tag]
        error = probe_error(words[0], hint, size)
        program = f"pydtrace -n {shlex.join(words)}"
    elif tag in told["FUNCTIONS"]:
        words, *function = told["FUNCTIONS"][tag]
        error = function_error(words[0], *function)
        program = f"pydtrace -n {shlex.join(words)}"
    elif tag in told["RECORDINGS"]:
        words, recorded = told["RECORDINGS"][tag]
        error = recording_error(words[0], recorded)
        program = f"pydtrace -n {shlex.join(words)}"
    elif tag in told["ARGUMENTS"]:
        words = told["ARGUMENTS"][tag]
        error = compile_error(words[0], words[1:])
        program = f"pydtrace -n {shlex.join(words)}"
    else:
        language = "d"
        program = told["EXAMPLES"].get(tag) or case_of(tag)
        error = compile_error(program)
    assert error and error.tag == tag, (tag, program, error)
    message = shown_error(error)
    mark = "<!-- syntax -->\n" if language == "sh" else "<!-- error -->\n"
    return (
        f"## {tag}\n{meaning[0].upper()}{meaning[1:]}.\n\n"
        f"{mark}```{language}\n{shorten(program)}\n```\n\n```text\n{message.expandtabs(4)}\n```\n\n"
        f"{told['ADVICE'][tag]}\n"
    )


def link(tag):
    return f"[`{tag}`](#{tag.lower()})"


def wrap(item):
    return textwrap.fill(
        item, 118, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
    )


def index(tags):
    """The frequent tags with their meanings, and links to all, by the word that several have in common."""
    groups = {}
    for tag in sorted(tags):
        groups.setdefault(tag.split("_")[1], []).append(tag)
    single = sorted(tag for group in groups.values() if len(group) == 1 for tag in group)
    many = [group for group in groups.values() if len(group) > 1]
    listed = sorted([*many, single], key=lambda group: group is single)
    lines = [group[at : at + _LINE] for group in listed for at in range(0, len(group), _LINE)]
    return (
        "## Index\nThe most frequent tags:\n\n| tag | meaning |\n| --- | --- |\n"
        + "".join(f"| {link(tag)} | {tags[tag]} |\n" for tag in _FREQUENT)
        + "\nAll tags:\n\n"
        + "".join(wrap("- " + ", ".join(map(link, line))) + "\n" for line in lines)
        + "\n"
    )


def page():
    from pydtrace.dlang.compile_errors import TAGS

    told = entries()
    sections = "\n".join(entry(tag, meaning, told) for tag, meaning in sorted(TAGS.items()))
    return HEAD + index(TAGS) + sections


def main(arguments):
    sys.path.insert(0, os.path.join(TOP, "src"))
    if arguments == ["--print"]:
        print(page(), end="")
    else:
        PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
