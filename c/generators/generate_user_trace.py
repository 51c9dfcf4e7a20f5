"""Generates everything that depends on a provider file.

The source is a D provider file (include/user_trace.d), read through the C preprocessor.  The files:

- c/generated/<file>.inc: one PYUSDT_PROBE(...) line for each probe, which c/target/sites.c includes
  for each use.
- c/generated/<file>.h: the number of probes, their indices, and the provider's name.
- c/generated/<file>_dtrace.d and .inc: the input for sites by the system's dtrace(1).
- With --stub the Python type stub, with --python the probes and arguments for pydtrace, with --docs
  the reference page.

It needs only the standard library.  A file is written only if it changes, so that nothing is
compiled again without need, and its first line names this script.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import subprocess
import sys
import sysconfig
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MAX_ARGS = (
    12  # PYUSDT_MAX_ARGS: what a site has registers for, and what DTrace and bpftrace can read
)

PROVIDER_RE = re.compile(r"\bprovider\s+(\w+)\s*\{(.*)\}\s*;", re.DOTALL)
PROBE_RE = re.compile(r"\bprobe\s+(\w+)\s*\(([^)]*)\)\s*;")
COMMENT_RE = re.compile(r"/\*((?:(?!\*/).)*)\*/\s*probe\s+(\w+)\s*\(", re.DOTALL)
INTEGER_RE = re.compile(r"(u?)int(8|16|32|64)_t")
C_INTEGERS = {
    "char": -1,
    "short": -2,
    "int": -4,
    "long": -8,
    "long long": -8,
    "unsigned char": 1,
    "unsigned short": 2,
    "unsigned": 4,
    "unsigned int": 4,
    "unsigned long": 8,
    "uintptr_t": 8,
    "size_t": 8,
}


class ProviderError(Exception):
    """The provider file is not what this generator understands."""


class Argument:
    """One parameter of a probe: its D type and name, and its size as stapsdt writes it (signed: negative)."""

    __slots__ = ("name", "type", "size", "is_string")

    def __init__(self, declaration: str) -> None:
        match = re.fullmatch(r"(.*?[\s*])(\w+)", " ".join(declaration.split()))
        if match is None:
            raise ProviderError(f"an argument needs a type and a name: {declaration!r}")
        self.type, self.name = match[1].strip(), match[2]
        self.is_string = self.type in ("char *", "const char *", "string")
        self.size = self._size()

    def _size(self) -> int:
        if self.is_string or self.type.endswith("*"):
            return 8
        integer = INTEGER_RE.fullmatch(self.type)
        if integer is not None:
            return int(integer[2]) // 8 * (1 if integer[1] else -1)
        if self.type in C_INTEGERS:
            return C_INTEGERS[self.type]
        raise ProviderError(f"no integer, string or pointer: {self.type!r} {self.name}")


class Probe:
    """One probe: the raw name of the note, the name D shows, the symbol of its site, its arguments."""

    __slots__ = ("index", "note_name", "d_name", "function", "arguments", "comment")

    def __init__(self, index: int, note_name: str, arguments: list[Argument], comment: str) -> None:
        self.index = index
        self.note_name = note_name
        self.d_name = note_name.replace("__", "-")
        self.function = note_name.replace("__", "_")
        self.arguments = arguments
        self.comment = comment
        if len(arguments) > MAX_ARGS:
            raise ProviderError(f"{note_name}: {len(arguments)} arguments, {MAX_ARGS} are possible")

    @property
    def string_mask(self) -> int:
        return sum(1 << i for i, argument in enumerate(self.arguments) if argument.is_string)

    @property
    def signature(self) -> tuple[str, ...]:
        return tuple(f"{argument.type} {argument.name}" for argument in self.arguments)


class Provider:
    __slots__ = ("name", "source", "probes")

    def __init__(self, name: str, source: Path, probes: list[Probe]) -> None:
        self.name = name
        self.source = source
        self.probes = probes

    @property
    def made_from(self) -> str:
        return f"Made by c/generators/generate_user_trace.py from include/{self.source.name}; do not edit."


def preprocess(source: Path, provider: str | None) -> str:
    compiler = shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc")[:1]
    define = [f"-DPROVIDER={provider}"] if provider else []
    command = [*compiler, "-E", "-P", "-nostdinc", *define, "-x", "c", str(source)]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def comments(source: Path) -> dict[str, str]:
    """The comment before each probe that has one of its own, without its stars."""
    found = {}
    for text, probe in COMMENT_RE.findall(source.read_text()):
        lines = [line.strip().lstrip("*").strip() for line in text.strip().splitlines()]
        found[probe] = "\n".join(lines).strip()
    return found


def read_provider(source: Path, provider: str | None = None) -> Provider:
    match = PROVIDER_RE.search(preprocess(source, provider))
    if match is None:
        raise ProviderError(f"{source}: no provider in it")
    documented = comments(source)
    probes: list[Probe] = []
    for name, declarations in PROBE_RE.findall(match[2]):
        arguments = [Argument(each) for each in declarations.split(",") if each.strip()]
        probes.append(Probe(len(probes), name, arguments, documented.get(name, "")))
    left = PROBE_RE.sub("", match[2]).strip()
    if left:
        raise ProviderError(f"{source}: not understood: {left.splitlines()[0]}")
    names = {probe.note_name for probe in probes}
    if len(names) != len(probes):
        raise ProviderError(f"{source}: a probe is declared twice")
    return Provider(match[1], source, probes)


def c_probes(provider: Provider) -> str:
    """The list of probes that c/target/sites.c includes: index, name, symbol of the site, operands."""
    lines = [f"/* {provider.made_from} */"]
    for probe in provider.probes:
        operands = ' " " '.join(
            f'PYUSDT_OPERAND("{argument.size}", {i})' for i, argument in enumerate(probe.arguments)
        )
        lines.append(
            f'PYUSDT_PROBE({probe.index}, "{probe.note_name}", {probe.function}, '
            f"{operands or chr(34) * 2})"
        )
    return "\n".join(lines) + "\n"


def dtrace_source(provider: Provider) -> str:
    """The provider file without macros and comments: not every dtrace -h finds a C preprocessor."""
    probes = [
        f"    probe {probe.note_name}({', '.join(probe.signature)});" for probe in provider.probes
    ]
    return "\n".join(
        [f"/* {provider.made_from} */", f"provider {provider.name} {{", *probes, "};", ""]
    )


def dtrace_probes(provider: Provider) -> str:
    """The list that c/target/sites_dtrace.h includes: the site's symbol, the macro of dtrace -h, its arguments."""
    lines = [f"/* {provider.made_from} */"]
    for probe in provider.probes:
        macro = f"{provider.name}_{probe.function}".upper()
        arguments = ", ".join(
            f"({argument.type})values[{i}]" for i, argument in enumerate(probe.arguments)
        )
        lines.append(f"PYUSDT_PROBE({probe.function}, {macro}, ({arguments}))")
    return "\n".join(lines) + "\n"


def families(provider: Provider) -> list[list[Probe]]:
    """Probes by what pyusdt_publish() takes as one: the same name and arguments, numbered from 0."""
    groups: list[list[Probe]] = []
    for probe in provider.probes:
        stem, number = split_number(probe.note_name)
        if (
            number is not None
            and groups
            and len(groups[-1]) == number
            and split_number(groups[-1][0].note_name) == (stem, 0)
            and groups[-1][0].signature == probe.signature
        ):
            groups[-1].append(probe)
        else:
            groups.append([probe])
    return groups


def split_number(name: str) -> tuple[str, int | None]:
    """user_trace__n17 is (user_trace__n, 17): a family is what ends in _n and a number."""
    match = re.fullmatch(r"(.*_n)(\d+)", name)
    return (match[1], int(match[2])) if match else (name, None)


def c_header(provider: Provider) -> str:
    stem = provider.source.stem.upper()
    indices, rows = [], []
    for family in families(provider):
        first, count = family[0], len(family)
        number = -len("0") if count > 1 else None
        indices.append(
            f"#define PYUSDT_{first.function.upper()} {first.index}u"
            + (f" /* and so on, to {family[-1].function} */" if count > 1 else "")
        )
        rows.append(
            f'    {{PYUSDT_PROVIDER, module, "{first.function[:number]}", "{first.d_name[:number]}", '
            f"{count}, 0x{first.string_mask:03x}, {len(first.arguments)}, 0, NULL}},"
        )
    numbered = max(map(len, families(provider)))
    return "\n".join(
        [
            f"/* {provider.made_from} */",
            f"#ifndef PYUSDT_GENERATED_{stem}_H",
            f"#define PYUSDT_GENERATED_{stem}_H",
            "",
            "#ifndef PYUSDT_PROVIDER /* a build for another language defines its own name */",
            f'#define PYUSDT_PROVIDER "{provider.name}"',
            "#endif",
            f"#define PYUSDT_PROBE_COUNT {len(provider.probes)}",
            f"#define PYUSDT_NUMBERED {numbered} /* members of the largest family */",
            *indices,
            "",
            "/* For pyusdt_publish(): one struct pyusdt_probe_desc for each family. */",
            f"#define PYUSDT_{stem}_FAMILIES(module) \\",
            " \\\n".join(rows),
            "",
            "#endif",
            "",
        ]
    )


def python_stub(provider: Provider) -> str:
    """The stub of pyusdt._core: its hand-written part, and what the provider file adds."""
    template = (ROOT / "src" / "pyusdt" / "_core.pyi.in").read_text()
    names = [f'    "{probe.d_name}",' for probe in provider.probes]
    general = next(probe for probe in provider.probes if probe.d_name == "user_trace-i4s4")
    own = [argument for argument in general.arguments if argument.name != "proc"]
    parameters = [
        f"{argument.name}: {'Text' if argument.is_string else 'Integer'} = None, "
        for argument in own
    ]
    replaced = {
        "@MADE_FROM@": provider.made_from,
        "@PROBE_NAMES@": "ProbeName: TypeAlias = Literal[\n" + "\n".join(names) + "\n]",
        "@TAG_AND_ARGUMENTS@": "".join(parameters) + "/",
        "@LAST_NUMBER@": str(max(map(len, families(provider))) - 1),
    }
    for key, value in replaced.items():
        template = template.replace(key, value)
    return template


def python_module(provider: Provider) -> str:
    """The module of pydtrace that knows the probes and the names of their arguments."""
    lines = [
        f"# {provider.made_from}",
        '"""The probes of the built-in provider, which every process with pyusdt or its NIF has."""',
        "",
        "PROBE_ARGUMENTS: dict[str, tuple[str, ...]] = {",
    ]
    for family in families(provider):
        first = family[0]
        names = [f'"{argument.name}"' for argument in first.arguments]
        arguments = f"({', '.join(names)}{',' if len(names) == 1 else ''})"
        if len(family) == 1:
            lines.append(f'    "{first.d_name}": {arguments},')
        else:
            stem = first.d_name[: -len("0")]
            lines += [
                "    **dict.fromkeys(",
                f'        (f"{stem}{{n}}" for n in range({len(family)})),',
                f"        {arguments},",
                "    ),",
            ]
    return "\n".join([*lines, "}", ""])


def docs_page(provider: Provider) -> str:
    """docs/reference/probes.md: each documented probe; those that share its arguments follow it."""
    lines = [
        f"<!-- {provider.made_from} -->",
        "# The user-trace probes",
        "",
        f"Provider `{provider.name}` (`{provider.name}<pid>` in D), {len(provider.probes)} probes.",
        "Every string ends with a NUL and is in memory when the probe fires;",
        "an absent string is NULL, an absent integer 0.",
        "",
    ]
    for title, probe in documented_groups(provider):
        text = re.split(r"\n\s*\n", probe.comment)
        described = dict(
            line.split(": ", 1) for part in text[1:] for line in part.splitlines() if ": " in line
        )
        lines += [f"## {title}", "", *textwrap.wrap(text[0], 118), ""]
        if described:
            lines += ["| D | type | name | |", "| --- | --- | --- | --- |"]
            for i, argument in enumerate(probe.arguments):
                read = f"copyinstr(arg{i})" if argument.is_string else f"arg{i}"
                lines.append(
                    f"| `{read}` | `{argument.type}` | {argument.name} "
                    f"| {described.get(argument.name, '').replace('<', '&lt;')} |"
                )
            lines.append("")
    return "\n".join(lines)


def documented_groups(provider: Provider) -> list[tuple[str, Probe]]:
    """(title, first probe) of each documented probe with those after it that have no comment of their own."""
    groups: list[list[Probe]] = []
    for probe in provider.probes:
        if probe.comment or not groups:
            groups.append([probe])
        elif probe.signature == groups[-1][0].signature:
            groups[-1].append(probe)
        else:
            raise ProviderError(
                f"{probe.note_name}: other arguments than the probe before it, and no comment"
            )
    return [
        (f"`{group[0].d_name}`" + (f" to `{group[-1].d_name}`" if len(group) > 1 else ""), group[0])
        for group in groups
    ]


def write(path: Path, text: str, check: bool) -> bool:
    """Write a file that has changed (or, checking, only say so)."""
    if path.exists() and path.read_text() == text:
        return False
    if not check:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return True


def generate(
    source: Path,
    out: Path,
    provider_name: str | None = None,
    stub: Path | None = None,
    docs: Path | None = None,
    check: bool = False,
    python: Path | None = None,
) -> list[Path]:
    """Make the files; returns those that were (checking: would be) changed."""
    provider = read_provider(source, provider_name)
    made = {
        out / f"{source.stem}.inc": c_probes(provider),
        out / f"{source.stem}.h": c_header(provider),
        out / f"{source.stem}_dtrace.d": dtrace_source(provider),
        out / f"{source.stem}_dtrace.inc": dtrace_probes(provider),
    }
    if stub is not None:
        made[stub] = python_stub(provider)
    if docs is not None:
        made[docs] = docs_page(provider)
    if python is not None:
        made[python] = python_module(provider)
    return [path for path, text in made.items() if write(path, text, check)]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--provider", help="the provider's name, where it is not the file's default"
    )
    parser.add_argument(
        "--out", type=Path, default=ROOT / "c" / "generated", help="folder of the C files"
    )
    parser.add_argument("--stub", type=Path, help="write the Python type stub there")
    parser.add_argument("--docs", type=Path, help="write the reference page there")
    parser.add_argument("--python", type=Path, help="write pydtrace's module of the probes there")
    parser.add_argument(
        "--check", action="store_true", help="write nothing; fail if something would change"
    )
    parser.add_argument("source", type=Path, nargs="?", default=ROOT / "include" / "user_trace.d")
    options = parser.parse_args(arguments)
    changed = generate(
        options.source,
        options.out,
        options.provider,
        options.stub,
        options.docs,
        options.check,
        options.python,
    )
    for path in changed:
        print(("out of date: " if options.check else "made ") + str(path))
    return 1 if options.check and changed else 0


if __name__ == "__main__":
    sys.exit(main())
