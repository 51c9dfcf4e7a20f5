"""Writes docs/reference/api-reference.md: the public names of pyusdt, from their signatures, types and docstrings.

    python docs/make_api.py            writes the page
    python docs/make_api.py --print    shows it

Input: pyusdt.__all__; the types of the C extension in src/pyusdt/_core.pyi; the docstrings and annotations of everything else.

- GROUPS has each public name once (tests/unit/docs/test_make_api.py).
- A member without a docstring is not on the page; HIDDEN has members with one that are for pyusdt itself.
"""

from __future__ import annotations

import ast
import inspect
import os
import re
import sys
import textwrap

import pyusdt

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PAGE = os.path.join(TOP, "docs", "reference", "api-reference.md")
STUB = os.path.join(TOP, "src", "pyusdt", "_core.pyi")
GROUPS = {
    "Fire probes": [
        "p",
        "pn",
        "probe",
        "Probe",
        "user_trace_i4s4",
        "user_trace_n",
        "user_trace_s1",
    ],
    "Tags": ["tag", "put_tag", "get_tag", "get_tag_data", "spread_tag", "restore_tag"],
    "Your own probes": ["Provider", "load", "get_include"],
    "Trace processes": ["trace", "watch", "Tracing", "atrace", "awatch", "AsyncTracing"],
    "Results": [
        "Record",
        "Aggregation",
        "Number",
        "FloatNumber",
        "Histogram",
        "Bucket",
        "Percentiles",
    ],
    "Errors and settings": [
        "CompileError",
        "EngineError",
        "TraceWarning",
        "strict",
        "redact",
        "available",
    ],
}
HIDDEN = {
    "Aggregation": {"from_items", "row", "key_types"},
    "Histogram": {"rows", "pictured"},
}
HEAD = """# API reference

docs/make_api.py makes this page from the type stubs and docstrings of the package `pyusdt`. How to use the names is in
[probes in Python](python.md), [providers](providers.md) and [the consumer API](api.md).
"""


def stub_signatures() -> dict[str, str]:
    """{name or Class.name: its signature} of the C extension. Of several overloads it is the first."""
    with open(STUB, encoding="utf-8") as file:
        tree = ast.parse(file.read())
    found: dict[str, str] = {}
    for node in tree.body:
        for each, prefix in [
            (node, ""),
            *(
                (member, f"{node.name}.")
                for member in getattr(node, "body", ())
                if isinstance(node, ast.ClassDef)
            ),
        ]:
            if isinstance(each, ast.FunctionDef) and not _is_property(each):
                result = f" -> {ast.unparse(each.returns)}" if each.returns else ""
                found.setdefault(f"{prefix}{each.name}", f"({ast.unparse(each.args)}){result}")
    return found


def _is_property(function: ast.FunctionDef) -> bool:
    return any(
        isinstance(each, ast.Name) and each.id == "property" for each in function.decorator_list
    )


def signature(name: str, member: object) -> str:
    """As the type checker sees it, without `self`; "" if it has none."""
    text = STUB_SIGNATURES.get(name)
    if text is None:
        try:
            text = str(inspect.signature(member))  # type: ignore[arg-type]
        except (TypeError, ValueError):
            return ""
    text = re.sub(r"(: |-> )'([^']*)'", r"\1\2", text)  # annotations that are text
    return re.sub(r"\((?:self|cls)(?:, /)?(?:, )?", "(", text).replace("(/, ", "(")


STUB_SIGNATURES = stub_signatures()


def entry(name: str) -> str:
    value = getattr(pyusdt, name)
    if not inspect.isclass(value):
        return f"### {name}\n\n{_code(f'pyusdt.{name}{signature(name, value)}')}\n{_text(value)}"
    members = "".join(_member(name, *each) for each in public_members(name, value))
    if members:
        members = f"\nMembers:\n{members}"
    return f"### {name}\n\n{_code(f'class pyusdt.{name}{_constructor(name, value)}')}\n{_text(value)}{members}"


def _constructor(name: str, value: type) -> str:
    """The arguments of the classes that users make themselves."""
    return signature(name, value) if name in ("tag", "Provider") else ""


def public_members(name: str, value: type) -> list[tuple[str, object]]:
    return [
        (member, each)
        for member, each in sorted(vars(value).items())
        if not member.startswith("_")
        and member not in HIDDEN.get(name, ())
        and isinstance(getattr(type(each), "__module__", None), str)
        and type(each) is not bool
        and type(each).__name__ != "member_descriptor"
        and inspect.getdoc(each)
    ]


def _member(owner: str, name: str, member: object) -> str:
    shown = (
        name
        if inspect.isdatadescriptor(member)
        else f"{name}{signature(f'{owner}.{name}', member)}"
    )
    first, _, rest = _plain(inspect.getdoc(member) or "").partition("\n")
    return f"\n{_fill(f'- `{shown}`: {first}')}\n" + (
        f"{textwrap.indent(rest, '    ')}\n" if rest else ""
    )


def _text(value: object) -> str:
    return f"\n{_plain(inspect.getdoc(value) or '')}\n"


def _fill(paragraph: str) -> str:
    """A paragraph or a point of a list in lines of at most 116 characters, which may be indented by 4; code is not broken."""
    text = re.sub(r"`[^`]+`", lambda code: code[0].replace(" ", "\0"), paragraph)
    later = "  " if text.startswith("- ") else ""
    return textwrap.fill(
        text, 112, subsequent_indent=later, break_long_words=False, break_on_hyphens=False
    ).replace("\0", " ")


def _plain(docstring: str) -> str:
    """A docstring as Markdown: an indented example is a fenced block."""
    out = []
    for part in docstring.split("\n\n"):
        if part.startswith("    "):
            language = "d" if part.lstrip().startswith("provider") else "py"
            out.append(f"```{language}\n{textwrap.dedent(part)}\n```")
        else:
            points = re.split(r"\n(?=- )", part)
            out.append("\n".join(_fill(" ".join(point.split())) for point in points))
    return "\n\n".join(out)


def _code(text: str) -> str:
    """A block with a signature, broken after its arguments if it is long."""
    if len(text) > 100:
        head, _, rest = text.partition("(")
        arguments, _, result = rest.rpartition(")")
        parts = re.split(r", (?![^\[]*\])", arguments)
        text = f"{head}(\n" + "".join(f"    {part},\n" for part in parts) + f"){result}"
    return f"```py\n{text}\n```"


def page() -> str:
    groups = (
        f"\n## {title}\n\n" + "\n".join(entry(name) for name in names)
        for title, names in GROUPS.items()
    )
    return HEAD + "".join(groups)


if __name__ == "__main__":
    if "--print" in sys.argv[1:]:
        print(page(), end="")
    else:
        with open(PAGE, "w", encoding="utf-8") as file:
            file.write(page())
