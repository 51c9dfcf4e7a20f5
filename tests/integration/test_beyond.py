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
def test_tasks_of_one_name_at_once(pydtrace, root, engine):
    """As a web server's requests, which all have the name of the function that serves them."""
    program = (f"{P}-n1 {{ task->n = arg2; @who[copyinstr(arg0)] = count(); }} {P}-n2 {{ @found[task->n == arg2 ? 1 : 0] = count(); }}"
               f" {P}-n2 {{ @who[copyinstr(arg0)] = count(); }} {P}-n2 /task->n == arg2/ {{ task->n = 0; }}"
               ' END { printa("%d %@d\\n", @found); printa("twice %@d\\n", @who); }')
    got = pydtrace("-x", f"engine={engine}", "-x", "dynvarsize=16m", "-x", "aggsize=16m", "-qn", program,
                   "-c", harness.program("same_name.py"))
    assert got.status == 0 and got.stderr == "", got
    lines = got.stdout.split("\n")
    assert "1 2000" in lines and "0 2000" not in lines and not any(line.startswith("0 ") for line in lines), lines[:5]
    assert lines.count("twice 2") == 2000 and sum(line.startswith("twice") for line in lines) == 2000


@pytest.mark.parametrize("engine", ["embedded", "kernel"])
def test_a_thread_does_not(pydtrace, root, engine):
    """And nothing is said of it: whether it could be depended on how long the process lived."""
    got = pydtrace("-x", f"engine={engine}", "-qn", THREADS, *COMMAND)
    assert got.stdout.split() == ["task2"] * 3, got
    assert got.stderr == "", got
