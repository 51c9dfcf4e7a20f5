"""Names of functions and variables of a running Python: -lv, `pyusdt list --functions`, errors, completion."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import pytest

from pydtrace.cli.commands import complete
from pydtrace.cli.commands.main import COMMANDS
from pydtrace.remote_python import module_functions
from tests.support import harness

pytestmark = pytest.mark.own_processes

PROGRAM = """
import functools, time

def logged(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        return function(*args, **kwargs)
    return wrapper

class Cart:
    @property
    def total(self):
        return 1
    @total.setter
    def total(self, amount):
        pass
    @staticmethod
    def empty(kind):
        pass

@logged
def pay(amount, *, currency="EUR"):
    fee = amount * 2
    return fee

def checkout(cart, number):
    captured = number
    def inner(factor):
        return captured * factor
    return inner

print("ready", flush=True)
while True:
    checkout(Cart(), 3)
    pay(2)
    time.sleep(0.01)
"""
CHECKOUT = "python$target:__main__:checkout:function-entry"


@pytest.fixture(scope="module")
def pid(tmp_path_factory):
    path = tmp_path_factory.mktemp("names") / "shop.py"
    path.write_text(textwrap.dedent(PROGRAM))
    command = [sys.executable, "-m", "pyusdt", str(path)]
    environment = {**os.environ, "PYUSDT_VM": "1"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as target:
        try:
            assert target.stdout.readline() == b"ready\n"
            yield target.pid
        finally:
            target.kill()


def run(command: str, *words: object):
    folder = os.path.dirname(sys.executable)
    return harness.run([os.path.join(folder, command), *map(str, words)])


def test_lv_lists_parameters_and_variables(pid):
    done = run("pydtrace", "-lv", "-n", CHECKOUT, "-p", pid)
    assert done.status == 0, done
    variables = done.stdout.partition("Variables\n")[2].split("\n\n")[0]
    assert {each.strip() for each in variables.splitlines()} == {
        "local.cart (parameter)",
        "local.number (parameter)",
        "local.captured",
        "local.inner",
    }


def test_l_lists_the_functions_that_a_description_matches(pid):
    done = run("pydtrace", "-l", "-n", "python$target:__main__:*:function-return", "-p", pid)
    names = {line.split()[3] for line in done.stdout.splitlines()[1:]}
    assert names == {
        "logged",
        "logged.<locals>.wrapper",
        "Cart.total",
        "Cart.empty",
        "pay",
        "checkout",
        "checkout.<locals>.inner",
    } or sys.version_info < (3, 11)
    done = run("pydtrace", "-l", "-n", "python$target:__main__:chekcout:function-return", "-p", pid)
    assert "No probe matches" in done.stderr and "checkout" not in done.stdout


def test_list_functions(pid):
    done = run("pyusdt", "list", "-p", pid, "--functions", "__main__:pay")
    [_, row] = done.stdout.splitlines()
    assert row.split()[:4] == ["__main__:pay", "amount,", "currency", "fee"]
    done = run("pyusdt", "list", "-p", pid, "--functions", "nothing")
    assert done.status == 1 and f"process {pid} has no function nothing" in done.stderr
    assert run("pyusdt", "list", "--functions", "pay").status == 2


def test_a_wrong_name_is_a_located_error(pid):
    done = run("pydtrace", "-n", f"{CHECKOUT} /local.carts.total > 1/ {{ }}", "-p", pid)
    *lines, hint = done.stderr.splitlines()[1:]
    assert done.status == 1 and lines == [
        "-n:1:49: [D_PATH_NAME]",
        f"    {CHECKOUT} /local.carts.total > 1/ {{ }}",
        " " * 52 + "^" * len("local.carts.total"),
    ]
    assert hint.startswith("hint: did you mean cart? there are cart, number, ")
    assert "no variable carts in __main__:checkout" in done.stderr


@pytest.mark.parametrize(
    "script",
    [
        "python$target:__main__:chec*:function-entry /local.carts/ { }",  # another may have it
        "python$target:__main__:later:function-entry /local.carts/ { }",  # not there yet
        f"{CHECKOUT}, python$target:__main__:pay:function-entry /local.fee/ {{ }}",
    ],
)
def test_where_the_name_may_be_right(pid, script):
    done = run("pydtrace", "-Zqn", script + " tick-1s { exit(0); }", "-p", pid)
    assert done.status == 0, done


def offered(line: str) -> list[str]:
    return [word for word, _ in complete.find_offers(line, COMMANDS)[1]]


def test_completion(pid):
    script = f"pydtrace -p {pid} -n '"
    assert offered(script + "python$target:__main__:chec") == ["python$target:__main__:checkout:"]
    start = f"{CHECKOUT} /present(local."
    names = ("captured", "cart", "inner", "number")
    assert sorted(offered(script + start)) == [start + name for name in names]
    assert offered(script + f"{CHECKOUT} /self.local.") == []
    assert offered(f"pyusdt watch -p {pid} __main__:chec") == ["__main__:checkout"]
    assert offered(f"pyusdt watch -p {pid} pay --where 'local.a") == ["local.amount"]
    # behind an open quote bash replaces all of the word
    line = script + f"{CHECKOUT} /local.ca"
    assert complete.format_offers("bash", line, COMMANDS).splitlines() == [
        f"{CHECKOUT} /local.cart",
        f"{CHECKOUT} /local.captured",
    ]


@pytest.mark.parametrize("bound", [3, 12])
def test_objects_are_bounded(pid, monkeypatch, bound):
    """Also those among the constants of code: what looks like code in an untrusted memory may have any number of them."""
    monkeypatch.setattr(module_functions, "_OBJECTS", bound)
    functions = module_functions.ModuleFunctions(pid)
    found = functions.find(lambda name: name == "__main__", lambda name: True)
    assert not functions.is_complete and len(functions._seen) == bound
    assert len(found) < bound
