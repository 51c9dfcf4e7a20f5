"""Hooks that a tracer brings into a program that runs: they leave, and what they need is imported before the lock is held."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from pyusdt import instrument
from pyusdt.instrument import attached, core

FOLDER = Path(instrument.__file__).parent
# Modules of pyusdt that the parts import, and those that they import.
SHARED = ["core", "db_queries", "http", "http_clients", "probes", "request_spans", "wrap_calls"]
OTHERS = ["_tag_decorator", "framework_probes", "import_callbacks", "provider_file", "providers"]


def imported_modules(path):
    """The absolute ones, at the beginning of a file."""
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield node.module


def test_all_that_the_parts_import_is_there_before_the_lock_is_held():
    paths = [FOLDER / f"{name}.py" for name in [*attached.PARTS, *SHARED]]
    paths += [FOLDER.parent / f"{name}.py" for name in OTHERS]
    needed = {name for path in paths for name in imported_modules(path)}
    own = {name for name in needed if name.partition(".")[0] == "pyusdt"}
    assert needed - own - {"__future__"} <= {
        *attached.NEEDED,
        *sys.builtin_module_names,
    }
    assert set(attached.PARTS) < set(instrument.PARTS)


class Framework:
    def send(self):
        return "sent"


def around(method):
    def called(self):
        return f"traced {method(self)}"

    return called


@pytest.fixture
def undo(monkeypatch):
    monkeypatch.setattr(core, "_undo", [])
    monkeypatch.setattr(core, "_failures", {})


@pytest.mark.usefixtures("undo")
def test_what_was_wrapped_is_as_it_was():
    original = Framework.send
    core.wrap_method(Framework, "send", around)
    assert Framework().send() == "traced sent"
    core.undo_hooks()
    assert Framework.send is original and core._undo == []


@pytest.mark.usefixtures("undo")
def test_what_another_has_wrapped_since_stays(monkeypatch):
    core.wrap_method(Framework, "send", around)
    ours = Framework.send
    monkeypatch.setattr(Framework, "send", lambda self: ours(self))
    core.undo_hooks()
    assert Framework().send() == "traced sent"


@pytest.mark.usefixtures("undo")
def test_an_error_of_one_hook_keeps_none_in():
    done = []
    core.call_to_undo(lambda: done.append(1))
    core.call_to_undo(lambda: 1 // 0)
    core.undo_hooks()
    assert done == [1] and "ZeroDivisionError" in core.trouble()
    core._failures.clear()


def test_a_program_whose_hooks_are_its_own_keeps_them():
    code = (
        "from pyusdt import instrument; instrument.enable('flask');"
        "from pyusdt.instrument import attached; print(attached.enter())"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "None\n"


def test_all_hooks_leave():
    code = (
        "import sys, asyncio, concurrent.futures.thread as t, flask, sqlalchemy.engine, psycopg2, redis\n"
        "from sqlalchemy import event\n"
        "def now(): return (asyncio.events.Handle._run, t.ThreadPoolExecutor.submit, flask.Flask.wsgi_app,"
        " psycopg2.connect, redis.client.Redis.execute_command, len(sys.meta_path))\n"
        "before = now()\n"
        "from pyusdt.instrument import attached\n"
        "leave = attached.enter(); during = now(); leave()\n"
        "assert all(a is not b for a, b in zip(before, during)), during\n"
        "assert before == now(), now()\n"
        "from pyusdt.instrument.core import trouble; assert not trouble(), trouble()\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
