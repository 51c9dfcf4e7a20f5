"""task-> variables, and what is said where self-> ones meet asyncio."""

import sys

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
def test_a_thread_does_not_and_that_is_said(pydtrace, root, engine):
    got = pydtrace("-x", f"engine={engine}", "-qn", THREADS, *COMMAND)
    assert got.stdout.split() == ["task2"] * 3, got
    told = "_asyncio" not in sys.builtin_module_names  # else nothing of the process shows it
    assert got.stderr.count("runs asyncio: task->name belongs to a task") == told, got
    assert "asyncio" not in pydtrace("-x", f"engine={engine}", "-qn", TASKS, *COMMAND).stderr
