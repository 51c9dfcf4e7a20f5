"""task-> variables, and self-> ones under asyncio."""

import harness
import pytest

P = "pyusdt$target:::user_trace"
TASKS = f'{P}-n1 {{ task->name = copyinstr(arg6); }} {P}-n2 {{ printf("%s\\n", task->name); }}'
THREADS = TASKS.replace("task->", "self->")
COMMAND = ["-c", harness.program("tasks.py")]


@pytest.mark.parametrize("engine", ["embedded", "kernel"])
def test_a_task_finds_its_own_again(pydtrace, root, engine):
    got = pydtrace("-x", f"engine={engine}", "-qn", TASKS, *COMMAND)
    assert (got.status, got.stdout.split()) == (0, ["task2", "task1", "task0"]), got


@pytest.mark.parametrize("engine", ["embedded", "kernel"])
def test_a_thread_does_not(pydtrace, root, engine):
    """And nothing is said of it: whether it could be depended on how long the process lived."""
    got = pydtrace("-x", f"engine={engine}", "-qn", THREADS, *COMMAND)
    assert got.stdout.split() == ["task2"] * 3, got
    assert got.stderr == "", got
