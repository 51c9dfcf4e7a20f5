"""task-> variables, and self-> ones under asyncio."""

import sys

import pytest

from tests.support import harness

P = "pyusdt$target:::user_trace"
TASKS = f'{P}-n1 {{ task->name = copyinstr(arg6); }} {P}-n2 {{ printf("%s\\n", task->name); }}'
THREADS = TASKS.replace("task->", "self->")
SHARED = "fires probes in several asyncio tasks or greenlets of a thread, which share self->x"
COMMAND = ["-c", harness.program("tasks.py")]


@pytest.mark.parametrize("engine", ["embedded", "kernel"])
def test_a_task_finds_its_own_again(pydtrace, root, engine):
    got = pydtrace("-x", f"engine={engine}", "-qn", TASKS, *COMMAND)
    assert (got.status, got.stdout.split()) == (0, ["task2", "task1", "task0"]), got


@pytest.mark.parametrize("engine", ["embedded", "kernel"])
def test_tasks_of_one_name_at_once(pydtrace, root, engine):
    """As a web server's requests, which all have the name of the function that serves them."""
    program = (
        f"{P}-n1 {{ task->n = arg2; @who[copyinstr(arg0)] = count(); }} {P}-n2 {{ @found[task->n == arg2 ? 1 : 0] = count(); }}"
        f" {P}-n2 {{ @who[copyinstr(arg0)] = count(); }} {P}-n2 /task->n == arg2/ {{ task->n = 0; }}"
        ' END { printa("%d %@d\\n", @found); printa("twice %@d\\n", @who); }'
    )
    got = pydtrace(
        "-x",
        f"engine={engine}",
        "-x",
        "dynvarsize=16m",
        "-x",
        "aggsize=16m",
        "-qn",
        program,
        "-c",
        harness.program("same_name.py"),
    )
    assert got.status == 0 and got.stderr == "", got
    lines = got.stdout.split("\n")
    assert (
        "1 2000" in lines
        and "0 2000" not in lines
        and not any(line.startswith("0 ") for line in lines)
    ), lines[:5]
    assert (
        lines.count("twice 2") == 2000 and sum(line.startswith("twice") for line in lines) == 2000
    )


@pytest.mark.parametrize("engine", ["embedded", "kernel"])
def test_a_thread_does_not(pydtrace, root, engine):
    """Which the process itself says, where somebody hears it: the kernel engine does not."""
    got = pydtrace("-x", f"engine={engine}", "-qn", THREADS, *COMMAND)
    assert got.stdout.split() == ["task2"] * 3, got
    assert (SHARED in got.stderr) == (engine == "embedded"), got


GREENLETS = """import gevent, pyusdt
probe = pyusdt.Provider("shop").probe("sold", int) if {own} else pyusdt.p
def serve(n):
    probe(n)
    gevent.sleep(0.01)
    probe(n)
gevent.joinall([gevent.spawn(serve, n) for n in range({greenlets})])
"""


def in_file(folder, program):
    """The command that runs it."""
    path = folder / "program.py"
    path.write_text(program)
    return f"{sys.executable} {path}"


@pytest.mark.parametrize("own", [False, True], ids=["user trace", "own provider"])
@pytest.mark.parametrize(
    ("variable", "greenlets", "told"),
    [("self->n", 2, True), ("this->n", 2, False), ("self->n", 1, False)],
)
def test_greenlets_share_their_threads_variables(
    pydtrace, tmp_path, own, variable, greenlets, told
):
    pytest.importorskip("gevent", reason="host: no gevent for this CPython")
    probe = "shop$target:::sold" if own else f"{P}-i4s4"
    got = pydtrace(
        "-x",
        "engine=embedded",
        "-Zqn",
        f"{probe} {{ {variable} = {0 if own else 2}; @n = count(); }}",
        "-c",
        in_file(tmp_path, GREENLETS.format(own=own, greenlets=greenlets)),
    )
    assert got.status == 0 and got.stdout.split() == [str(2 * greenlets)], got
    assert (SHARED in got.stderr) == told, got


@pytest.mark.parametrize(("greenlets", "told"), [(1, True), (0, False)])
def test_functions_of_greenlets_share_as_well(pydtrace, tmp_path, greenlets, told):
    """The first greenlet of a thread is one of them."""
    pytest.importorskip("gevent", reason="host: no gevent for this CPython")
    program = f"""import gevent
def first(): pass
def serve(): gevent.sleep(0.01)
first()
gevent.joinall([gevent.spawn(serve) for n in range({greenlets})])
"""
    got = pydtrace(
        "-qn",
        "python$target:__main__::function-entry { self->n = 1; @n = count(); }",
        "-c",
        in_file(tmp_path, program),
    )
    assert got.status == 0 and (SHARED in got.stderr) == told, got


def test_tasks_of_threads_of_their_own_share_nothing(pydtrace, tmp_path):
    program = (
        "import asyncio, threading, pyusdt\nasync def serve(): pyusdt.p(1)\n"
        "threads = [threading.Thread(target=asyncio.run, args=(serve(),)) for _ in range(4)]\n"
        "[t.start() for t in threads]; [t.join() for t in threads]"
    )
    got = pydtrace(
        "-x",
        "engine=embedded",
        "-qn",
        f"{P}-i4s4 {{ self->n = 1; @n = count(); }}",
        "-c",
        in_file(tmp_path, program),
    )
    assert (got.status, got.stdout.split(), got.stderr) == (0, ["4"], ""), got
