"""The example programs and configuration files that are installed with the package: their names, the line of each in the list,
and their texts.

- A name of a program is the path below the package's folder examples/, with its suffix: hello.py, two_languages/shop.py.
- A name of a configuration file is the path below scripts/: metrics/errors.map, systemd/pyusdt.service.
- Files are read when they are asked for; no example is run.
"""

from __future__ import annotations

import os
import re

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), *[os.pardir] * 2, "examples")
_SCRIPTS = os.path.join(os.path.dirname(FOLDER), "scripts")
_CONFIGURATION = {  # the suffix of a file below scripts/metrics or scripts/systemd: what it is
    ".map": "names of the metrics of `pyusdt trace {}`",
    ".json": "a dashboard for Grafana of all these metrics",
    ".yml": "rules for Prometheus of all these metrics",
    ".service": "a unit of systemd for `pyusdt serve`",
}
_SUFFIXES = (".py", ".d", ".erl", ".escript", ".exs", ".pyx")
_OF_THE_REPOSITORY = ("demo.py", "mix/mix.exs")  # they need the source tree, and no wheel has them
_DECORATION = re.compile(r'^(?:#!.*\n)?(?:%%!.*\n|# cython:.*\n)*(?:"""|/\*|\s)*')


def example_names() -> list[str]:
    """Of all example programs."""
    found = [
        os.path.relpath(os.path.join(folder, name), FOLDER)
        for folder, _, names in os.walk(FOLDER)
        for name in names
        if name.endswith(_SUFFIXES)
    ]
    return sorted(set(found) - set(_OF_THE_REPOSITORY))


def configuration_names() -> list[str]:
    """Of all configuration files."""
    return sorted(
        f"{folder}/{name}"
        for folder in ("metrics", "systemd")
        for name in os.listdir(os.path.join(_SCRIPTS, folder))
        if os.path.splitext(name)[1] in _CONFIGURATION
    )


def installed_names() -> list[str]:
    """Of both, in the order of the list."""
    return [*example_names(), *configuration_names()]


def find_example(name: str) -> str | None:
    """The name of an example that the user named: in full, without .py, or with the folder examples/ or scripts/ in front."""
    plain = name.removeprefix("examples/").removeprefix("scripts/")
    names = installed_names()
    return next((each for each in (plain, f"{plain}.py") if each in names), None)


def example_text(name: str) -> str:
    folder = FOLDER if name in example_names() else _SCRIPTS
    with open(os.path.join(folder, name), encoding="utf-8") as file:
        return file.read()


def first_sentence(text: str) -> str:
    """The first sentence of a program's opening comment or docstring, in one line."""
    text = _DECORATION.sub("", text, count=1)
    lines = []
    for line in text.splitlines():
        plain = line.lstrip("#%* \t")
        if not plain or (not line.startswith(("#", "%", " *")) and plain.startswith("import ")):
            break
        lines.append(plain.strip())
    joined = " ".join(lines)
    return re.split(r'(?<=\.)\s|"""|\s?\*/', joined)[0].rstrip(".:")


def format_rows() -> list[list[str]]:
    """A row for each example, below a heading: its name, and its first sentence."""
    return [
        ["EXAMPLE", "WHAT IT IS"],
        *([name, first_sentence(example_text(name))] for name in example_names()),
        *([name, _describe_configuration(name)] for name in configuration_names()),
    ]


def _describe_configuration(name: str) -> str:
    script, suffix = os.path.splitext(os.path.basename(name))
    return _CONFIGURATION[suffix].format(script)
