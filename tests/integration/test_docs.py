"""Every example in README.md, CONTRIBUTING.md and docs/ runs, and prints what it says.

A block's language says what it is, with the comment before it (`<!-- root -->`), if there is one:
    console     each line that starts with "$ " is run by a shell, in the repository, with .venv's commands first;
                the lines after it are its output, standard error included where "2>&1" says so. "..." stands for
                anything in a line, a line of "..." for any lines. With "root": runs as root. With "folder": runs in a
                folder of the page's own, empty at first, as for a user who has only the wheel; "root folder" is both. Ports
                8471 to 8499 are replaced by free ones, since another checkout's tests may run.
                With "rabbitmq": runs as root beside a RabbitMQ of its own (rabbitmq.py).
    python      a whole program
                With "test": a module of tests, which pytest runs. With "syntax": it runs for too long, and is compiled
    py          a signature or example that docs/make_api.py took from the code
    d           a D script that compiles; with "error": one that does not, and `text` is the message; docs/make_errors.py ran it
    erlang      an escript, or what its main/1 does, in a node that has the application on its path
    sh          set-up, which the tests do not repeat, since it is what they run in: `make` with targets that exist, or
                entering .venv
                With "syntax": a command that cannot run here; bash looks at its syntax. SystemTap needs the running kernel's build tree
    dockerfile  each line is an instruction of Docker's; a CMD is a list
    yaml        a document of YAML
There is no other kind, and no command in an indented block. What is indented is the tree (DESIGN.md) and a step of the
protocol (ring.md). What a page starts in the background (a command that ends in "&") runs for all blocks after it, and
ends with the tests.

Every link and every path that a page names leads to what is there.
"""

import atexit
import contextlib
import functools
import glob
import json
import os
import re
import runpy
import shutil
import signal
import socket
import sys
import tempfile

import pytest

from tests.support import harness
from tests.support.docs_blocks import (
    BLOCKS,
    MARK,
    PAGES,
    Block,
    check_step,
    marked,
    pattern,
    steps,
)
from tests.support.servers import rabbitmq


def shell(command: str, path: str, folder: str = harness.ROOT) -> harness.Run:
    environment = {**os.environ, "PATH": path, **dict([MARK.split("=")])}
    return harness.run(["bash", "-c", command], timeout=120, cwd=folder, env=environment)


FOLDER = "pyusdt-page-"


@functools.cache
def free_port(written: str) -> str:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return str(listening.getsockname()[1])


@functools.cache
def folder_of(page: str) -> str:
    folder = tempfile.mkdtemp(prefix=FOLDER)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


STARTED: set[tuple[str, str]] = (
    set()
)  # (page, command) of what runs in the background, or made a file


def is_lasting(command: str) -> bool:
    """Whether later blocks need it: it runs in the background, or writes an example."""
    return command.endswith("&") or command.startswith("pyusdt example ")


def start_what_is_needed(block: Block, path: str, shell) -> None:
    """What the page has started before this block: where the block is run alone, that did not happen."""
    for earlier in BLOCKS:
        if (
            earlier.page == block.page
            and earlier.line < block.line
            and earlier.kind.startswith("console")
        ):
            for command, _ in steps(earlier):
                if is_lasting(command) and (block.page, command) not in STARTED:
                    shell(command, path)
                    STARTED.add((block.page, command))


def check_steps(block: Block, path: str, shell=shell) -> None:
    assert steps(block), f"{block!r} has no command"
    for command, expected in steps(block):
        check_step(command, expected, lambda command: shell(command, path))
        if is_lasting(command):
            STARTED.add((block.page, command))


def check_console(block: Block, path: str, shell=shell) -> None:
    start_what_is_needed(block, path, shell)
    check_steps(block, path, shell)


def end_other_pages(page: str) -> None:
    """What another page has left running in its folder: its requests would be in this page's output, too."""
    for pid in marked():
        with contextlib.suppress(OSError):
            folder = os.path.basename(os.readlink(f"/proc/{pid}/cwd"))
            if folder.startswith(FOLDER) and folder != os.path.basename(folder_of(page)):
                os.kill(pid, signal.SIGKILL)


def check_in_folder(block: Block, path: str) -> None:
    def shell_there(command: str, path: str) -> harness.Run:
        command = re.sub(r"\b84[789]\d\b", lambda port: free_port(port[0]), command)
        return shell(command, path, folder_of(block.page))

    check_console(block, path, shell_there)


def check_rabbitmq(block: Block, path: str) -> None:
    if os.geteuid() != 0:
        pytest.skip("host: not root")
    if lacking := harness.tools(*rabbitmq.NEEDS):
        pytest.skip(f"no {lacking}")
    with rabbitmq.broker() as broker:
        check_steps(block, path, broker.run)


def check_python(block: Block, path: str) -> None:
    run = harness.run([sys.executable, "-c", block.text], cwd=harness.ROOT)
    assert run.status == 0, run


def check_python_syntax(block: Block, path: str) -> None:
    compile(block.text, block.page, "exec")


def check_python_test(block: Block, path: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        module = os.path.join(folder, "test_example.py")
        with open(module, "w") as file:
            file.write(block.text)
        run = harness.run(
            [
                sys.executable,
                "-m",
                "pytest",
                "-q",
                "-p",
                "no:cacheprovider",
                "--rootdir",
                folder,
                module,
            ],
            cwd=folder,
        )
    assert run.status == 0 and "1 passed" in run.stdout, run


def check_d(block: Block, path: str) -> None:
    with tempfile.NamedTemporaryFile("w", suffix=".d") as script:
        script.write(block.text)
        script.flush()
        run = harness.run([harness.PYDTRACE, "--dump=bpf", "-s", script.name])
    assert run.status == 0, run


def check_setup(block: Block, path: str) -> None:
    with open(os.path.join(harness.ROOT, "Makefile")) as file:
        targets = set(re.findall(r"^([a-z-]+):", file.read(), re.MULTILINE))
    for line in block.text.splitlines():
        command = line.split("#")[0].strip()
        make, *made = command.split() or [""]
        assert (make == "make" and made and targets.issuperset(made)) or (
            command == ". .venv/bin/activate"
        ), command


def check_syntax(block: Block, path: str) -> None:
    run = harness.run(["bash", "-n", "-c", block.text])
    assert run.status == 0, run


def check_generated(block: Block, path: str) -> None:
    assert block.page == "docs/reference/api-reference.md"


def check_error(block: Block, path: str) -> None:
    assert block.page == "docs/reference/errors.md"  # tests/unit/docs/test_make_errors.py runs it


def check_dockerfile(block: Block, path: str) -> None:
    for line in block.text.splitlines():
        instruction, _, rest = line.partition(" ")
        assert instruction in ("FROM", "RUN", "COPY", "ENV", "USER", "WORKDIR", "CMD"), line
        assert instruction != "CMD" or json.loads(rest), line


def check_yaml(block: Block, path: str) -> None:
    yaml = pytest.importorskip("yaml")
    assert isinstance(yaml.safe_load(block.text), dict)


def check_erlang(block: Block, path: str) -> None:
    text = block.text if block.text.startswith("main(") else f"main(_) ->\n{block.text.rstrip()}.\n"
    with tempfile.NamedTemporaryFile("w", suffix=".escript") as script:
        script.write(f"#!/usr/bin/env escript\n%%! -pa erlang_nif/ebin\n{text}")
        script.flush()
        run = shell(f"escript {script.name}", path)
    assert run.status == 0, run


CHECKS = {
    "console": check_console,
    "console root": check_console,
    "console folder": check_in_folder,
    "console root folder": check_in_folder,
    "console rabbitmq": check_rabbitmq,
    "python": check_python,
    "python test": check_python_test,
    "python syntax": check_python_syntax,
    "py": check_generated,
    "d": check_d,
    "d error": check_error,
    "text": check_error,
    "dockerfile": check_dockerfile,
    "yaml": check_yaml,
    "erlang": check_erlang,
    "sh": check_setup,
    "sh syntax": check_syntax,
}


def test_every_block_is_of_a_kind_that_is_run():
    assert [block for block in BLOCKS if block.kind not in CHECKS] == []


INDENTED = (
    "docs/internals/DESIGN.md",
    "docs/internals/ring.md",
    "docs/reference/api-reference.md",
)  # the tree; a step of the protocol; further lines of a member in a list


@pytest.mark.parametrize("page", [page for page in PAGES if page not in INDENTED])
def test_no_example_is_indented(page):
    """Such a block has no kind, so nothing would run it. An indented line that follows another is a list's."""
    with open(os.path.join(harness.ROOT, page)) as file:
        without = re.sub(r"^```.*?^```$", "", file.read(), flags=re.MULTILINE | re.DOTALL)
    assert re.findall(r"^\n {4}.*", without, re.MULTILINE) == []


@pytest.mark.parametrize("block", BLOCKS, ids=repr)
def test_example(block, path, request):
    if block.kind.startswith("console root"):
        request.getfixturevalue("oracle")
    if block.kind.startswith("console"):
        end_other_pages(block.page)
    CHECKS[block.kind](block, path)


def prose(text: str) -> list[tuple[int, str]]:
    """(number, line) of a page but for code, tables, pictures and comments, which can not be broken."""
    without = re.sub(
        r"^```.*?^```$",
        lambda block: "\n" * block[0].count("\n"),
        text,
        flags=re.MULTILINE | re.DOTALL,
    )
    return [
        (n, line)
        for n, line in enumerate(without.split("\n"), 1)
        if not line.startswith(("|", "    ", "![", "<!--"))
    ]


@pytest.mark.parametrize("page", ["CHANGELOG.md", "SECURITY.md", *PAGES])
def test_lines_are_short(page):
    with open(os.path.join(harness.ROOT, page)) as file:
        assert [n for n, line in prose(file.read()) if len(line) > 120] == []


def test_prose_is_all_but_code_and_tables():
    text = "a\n```console\n$ b\n```\n| c |\n    d\n- e\n  f\n![g](h)\n"
    assert [line for _, line in prose(text) if line] == ["a", "- e", "  f"]


def test_readme_names_the_test_command():
    with open(os.path.join(harness.ROOT, "README.md")) as file:
        assert "```sh\nmake test test-more\n```" in file.read()


def test_readme_has_three_examples_that_run():
    assert (
        sum(
            block.page == "README.md" and block.kind in ("console", "console folder", "python")
            for block in BLOCKS
        )
        >= 3
    )


RESULTS = ["tests/results/long-tests.md", "tests/results/performance.md"]
NAMING = [
    "CHANGELOG.md",
    "SECURITY.md",
    "scripts/README.md",
    "tests/dtrace/corpus/README.md",
    *RESULTS,
    *PAGES,
]
# A path of the repository: one that begins with a folder of its top. c/generated is made by the build; NAME and TAG
# stand for any.
NAMED = re.compile(
    r"(?<![\w./$-])(?:c|docs|src|tests|include|examples|scripts|benchmarks|erlang_nif|\.ci|\.github)"
    r"/[\w./*-]*[\w*]"
)
MADE = re.compile(r"^c/generated/|^erlang_nif/(?:ebin|priv)\b|NAME|TAG|what\.")


def missing(page: str, text: str) -> list[str]:
    """What a page with this text names, and is not there."""
    beside = os.path.dirname(page)
    links = [
        os.path.join(beside, link)
        for link in re.findall(r"\]\(([^)#\s]+)", text)
        if "://" not in link
    ]
    paths = [
        path for path in NAMED.findall(re.sub(r"\]\([^)]*\)", "", text)) if not MADE.search(path)
    ]
    # a program may be named without its ending: `pgrep -f examples/ticking`
    found = {
        path
        for path in links + paths
        for end in ("", ".*")
        if glob.glob(path + end, root_dir=harness.ROOT)
    }
    return [path for path in links + paths if path not in found]


@pytest.mark.parametrize("page", NAMING)
def test_what_a_page_names_is_there(page):
    with open(os.path.join(harness.ROOT, page)) as file:
        assert missing(page, file.read()) == []


def headings(page: str) -> set[str]:
    """What a link may name of a page behind its #, as GitHub makes it."""
    with open(os.path.join(harness.ROOT, page)) as file:
        found = [
            line.lstrip("#").strip().lower()
            for _, line in prose(file.read())
            if re.match("#+ ", line)
        ]
    return {re.sub(r"[^\w -]", "", heading).replace(" ", "-") for heading in found}


@pytest.mark.parametrize("page", [*RESULTS, *PAGES])
def test_what_a_link_names_of_a_page_is_a_heading(page):
    with open(os.path.join(harness.ROOT, page)) as file:
        links = re.findall(r"\]\(([^)#\s:]*)#([^)]+)\)", file.read())
    there = [
        (os.path.join(os.path.dirname(page), other) if other else page, heading)
        for other, heading in links
    ]
    assert [(other, heading) for other, heading in there if heading not in headings(other)] == []


def test_every_page_is_in_the_index():
    with open(os.path.join(harness.ROOT, "docs", "README.md")) as file:
        links = re.findall(r"\]\(([^)#\s]+)", file.read())
    linked = {os.path.normpath(os.path.join("docs", link)) for link in links}
    assert [
        page
        for page in PAGES
        if page.startswith("docs/") and page not in {*linked, "docs/README.md"}
    ] == []


def test_missing_finds_links_and_paths():
    text = (
        "[a](hosts.md) [b](nowhere.md) [c](../../README.md#x) [d](https://example.com/x) c/target/no.c, `tests/c/*.py` "
        "c/generated/x.h"
    )
    assert missing("docs/howto/page.md", text) == ["docs/howto/nowhere.md", "c/target/no.c"]


def test_pages_that_code_names_are_there():
    """In comments and in messages, where a user looks for more."""
    found = harness.run(
        [
            "git",
            "grep",
            "-ohIE",
            r"\bdocs/[A-Za-z/-]+\.md",
            "--",
            ":!tests/integration/test_docs.py",
        ],
        cwd=harness.ROOT,
    ).stdout.split()
    assert "docs/internals/ring.md" in found
    assert [
        page for page in sorted({*found}) if not os.path.exists(os.path.join(harness.ROOT, page))
    ] == []


def test_the_pictured_session_is_what_the_commands_print():
    """But for the times that they measure: the histogram's rows."""
    made = runpy.run_path(os.path.join(harness.ROOT, "docs", "make_session.py"))
    with open(os.path.join(harness.ROOT, "docs", "images", "session.svg")) as file:
        picture = file.read()
    drawn = made["lines"](made["outputs"]())
    shown = [
        made["unbroken"](text) for _, text in drawn if text and not re.match(r" *\d+ \|", text)
    ]
    assert len(shown) > 15 and [text for text in shown if f">{text}<" not in picture] == []


def test_pattern_is_no_more_than_it_says():
    assert re.fullmatch(pattern("a...\n...\nz"), "abc\n1\n2\nz")
    assert re.fullmatch(pattern("a\n...\nz"), "a\n\nz")
    assert not re.fullmatch(pattern("a.c"), "abc")
    assert not re.fullmatch(pattern("a"), "a\nb")


def test_pyusdt_is_not_installed_by_its_name():
    """The index has another project of this name. An extra stands in quotes: zsh reads [live] as a pattern."""
    sources = glob.glob("src/**/*.py", root_dir=harness.ROOT, recursive=True)
    wrong = []
    for name in [*PAGES, *sources]:
        with open(os.path.join(harness.ROOT, name), encoding="utf-8") as file:
            if re.search(r"pip\s+install\s+(pyusdt|pydtrace\[)", file.read()):
                wrong.append(name)
    assert wrong == []
