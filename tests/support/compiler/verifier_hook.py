"""Every program that a test here compiles is given to the kernel's verifier, whether the test asks or
not: whatever makes a program.Program is seen, and a refusal fails the test that made it."""

import pytest

from pydtrace.program.program import Program
from tests.support.compiler import verifier

_made = []
_make = Program.__init__


def _remember(self):
    _make(self)
    _made.append(self)


Program.__init__ = _remember


def refusals():
    """What the verifier refuses of the programs made since the last call: a list of texts."""
    made, _made[:] = list(_made), []
    return [
        f"clause {index} ({program.clauses[index].loc}): {verdict.log}"
        for program in made
        if program.maps
        for index, verdict in verifier.verify_program(program).items()
        if verdict.status == verifier.REFUSED
    ]


@pytest.fixture(autouse=True)
def kernel_verifier():
    """Runs after each test."""
    refusals()
    yield
    found = refusals()
    assert not found, "the kernel refuses what was compiled:\n" + "\n".join(
        text[-3000:] for text in found
    )
