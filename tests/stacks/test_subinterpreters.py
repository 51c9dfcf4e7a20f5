"""Sub-interpreters: a thread that runs code of one is one thread, with its caller's frames behind those of the code that it runs,
and the interpreter's number between them."""

import os
import time

import pytest

from tests.support import stacks_harness as harness
from tests.support.python_stack_reader import Reader


@pytest.mark.parametrize("work", ["busy", "sleep"])
@pytest.mark.parametrize(
    "python",
    [each for each in harness.INTERPRETERS if harness.minor_of(each) >= 10],
    ids=harness.name_of,
)
def test_caller_is_no_thread_of_its_own(python, work):
    with harness.running(python, "interpreters.py", work) as subject:
        assert subject.said == "here"
        time.sleep(0.1)  # it sleeps by now
        reader = Reader(subject.pid)
        tasks = len(os.listdir(f"/proc/{subject.pid}/task"))
        names = []
        for _ in range(
            200
        ):  # a look may come while a thread begins to wait for the interpreter's lock
            names = [
                [row[0].rpartition(".")[2] for row in reader.rows(raw)]
                for raw in reader.read()
                if not raw.marks
            ]
            if len(names) == tasks:
                break
        called = next(stack for stack in names if "outer" in stack)
        assert len(names) == tasks == 2, names
        assert called[:4] == ["inner", "<module>", "[interpreter 1]", "outer"], names
