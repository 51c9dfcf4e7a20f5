"""What depends on a call's shape: it raises always, and is told by the return value."""

import os
import re
import subprocess
import sys

import pytest

import pyusdt

SHAPES = [
    (lambda: pyusdt.p(*range(9)), TypeError, "p() takes at most 8 arguments (9 given)"),
    (lambda: pyusdt.pn(0, *range(9)), TypeError, "pn() takes at most 9 arguments (10 given)"),
    (lambda: pyusdt.pn(), TypeError, "pn() takes the number of a probe first, an int"),
    (lambda: pyusdt.pn("1"), TypeError, "pn() takes the number of a probe first, an int"),
    (lambda: pyusdt.pn(1.0), TypeError, "pn() takes the number of a probe first, an int"),
    (lambda: pyusdt.pn(None), TypeError, "pn() takes the number of a probe first, an int"),
    (lambda: pyusdt.pn(-1), ValueError, "pn(): the number of a probe is 0 to 950, not -1"),
    (lambda: pyusdt.pn(951), ValueError, "pn(): the number of a probe is 0 to 950, not 951"),
    (
        lambda: pyusdt.pn(1 << 64),
        ValueError,
        "pn(): the number of a probe is 0 to 950, not 18446744073709551616",
    ),
    (
        lambda: pyusdt.user_trace_i4s4(*range(10)),
        TypeError,
        "user_trace_i4s4() takes at most 9 arguments (10 given)",
    ),
    (
        lambda: pyusdt.user_trace_n(1, *range(10)),
        TypeError,
        "user_trace_n() takes at most 10 arguments (11 given)",
    ),
    (
        lambda: pyusdt.user_trace_n(951),
        ValueError,
        "user_trace_n(): the number of a probe is 0 to 950, not 951",
    ),
    (
        lambda: pyusdt.probe("user_trace-i4s4")(*range(9)),
        TypeError,
        "a probe call takes at most 8 arguments (9 given)",
    ),
    (
        lambda: pyusdt.probe("user_trace-s1")("a", "b"),
        TypeError,
        "a probe call takes at most 1 arguments (2 given)",
    ),
    (
        lambda: pyusdt.probe("user_trace-n3")(a=1),
        TypeError,
        "this probe takes no argument 'a' by name",
    ),
    (
        lambda: pyusdt.probe("user_trace-n3").lazy(3),
        TypeError,
        "lazy() takes a function that returns the arguments, not int",
    ),
]


@pytest.mark.parametrize(("call", "exception", "message"), SHAPES)
def test_shape_errors_are_raised_off_and_on(call, exception, message, tracer):
    with pytest.raises(exception) as off:
        call()
    with (
        tracer.attached(
            "user_trace__s1", "user_trace__i4s4", "user_trace__n0", "user_trace__n3"
        ) as events,
        pytest.raises(exception) as on,
    ):
        call()
    assert str(off.value) == str(on.value) == message
    assert events == []


def test_off_returns_false():
    assert pyusdt.p(1, 2, "a") is False
    assert pyusdt.pn(950, 1) is False
    assert pyusdt.user_trace_s1("x") is False
    assert pyusdt.user_trace_i4s4("tag", 1, 2, 3, 4, "a", "b", "c", "d") is False
    assert pyusdt.user_trace_n(0, "tag") is False


def test_off_converts_nothing():
    class Loud:
        def __str__(self):
            raise AssertionError("converted while off")

    assert pyusdt.p(Loud()) is False
    assert pyusdt.pn(1, Loud()) is False
    assert pyusdt.user_trace_s1(Loud()) is False
    assert pyusdt.user_trace_i4s4(Loud(), 1, 2, 3, 4, Loud()) is False
    assert pyusdt.probe("user_trace-i4s4").lazy(lambda: 1 / 0) is False


def test_semaphores_are_separate_and_go_down_again(tracer):
    assert tracer.semaphore("user_trace__n5") == 0
    with tracer.attached("user_trace__n5") as events:
        assert tracer.semaphore("user_trace__n5") == 1
        assert tracer.semaphore("user_trace__n4") == tracer.semaphore("user_trace__n6") == 0
        assert pyusdt.pn(5, 55) is True
        assert pyusdt.pn(4, 44) is False and pyusdt.pn(6, 66) is False and pyusdt.p(1) is False
    assert tracer.semaphore("user_trace__n5") == 0
    assert pyusdt.pn(5) is False
    assert [event.values[0] for event in events] == [55]


@pytest.mark.parametrize("n", [0, 1, 9, 10, 475, 949, 950])
def test_numbered_probes_fire_their_own_site(n, tracer):
    with tracer.attached(f"user_trace__n{n}") as events:
        assert pyusdt.pn(n, n, "x") is True
        assert pyusdt.user_trace_n(n, None, n, 0, 0, 0, "y") is True
        assert pyusdt.probe(f"user_trace-n{n}")(n, "z") is True
        assert pyusdt.pn(True if n == 1 else n, "w") is True
    assert [event.values[4] for event in events] == [b"x", b"y", b"z", b"w"]


def test_message(tracer):
    with tracer.attached("user_trace__s1") as events:
        assert pyusdt.user_trace_s1("hello") is True
        assert pyusdt.probe("user_trace-s1")("probe") is True
        assert pyusdt.probe("user_trace-s1")() is True
    assert [event.arguments for event in events] == [[b"hello"], [b"probe"], [None]]


@pytest.mark.parametrize(
    "name",
    [
        "",
        "user_trace",
        "user_trace-n",
        "user_trace-n951",
        "user_trace-n01",
        "user_trace-n-1",
        "user_trace-i4s4x",
        "user_trace-n1 ",
        "x" * 1000,
        "usér",
    ],
)
def test_unknown_probe(name):
    with pytest.raises(ValueError, match="no such probe"):
        pyusdt.probe(name)


def test_probe_object(tracer):
    probe = pyusdt.probe("user_trace__n17")
    assert probe.name == "user_trace-n17" == pyusdt.probe("user_trace-n17").name
    assert not probe and repr(probe) == "<pyusdt.Probe user_trace-n17: off>"
    with tracer.attached("user_trace__n17") as events:
        assert probe and repr(probe) == "<pyusdt.Probe user_trace-n17: on>"
        assert probe(1, "a") is True
    assert events[0].values == [1, 0, 0, 0, b"a", None, None, None]
    with pytest.raises(TypeError):
        pyusdt.probe(17)
    with pytest.raises(TypeError):
        pyusdt.Probe()


def test_lazy(tracer):
    probe = pyusdt.probe("user_trace-n18")
    with tracer.attached("user_trace__n18") as events:
        assert probe.lazy(lambda: (1, 2, "a")) is True
        assert probe.lazy(lambda: "one value") is True
        assert probe.lazy(lambda: 1 / 0) is True
        assert probe.lazy(lambda: tuple(range(1, 10))) is True
    assert [event.values for event in events] == [
        [1, 2, 0, 0, b"a", None, None, None],
        [0, 0, 0, 0, b"one value", None, None, None],
        [0, 0, 0, 0, None, None, None, None],
        [1, 2, 3, 4, b"5", b"6", b"7", b"8"],
    ]


@pytest.fixture
def strict():
    assert pyusdt.strict() is False
    yield
    assert pyusdt.strict(False) is True


STRICT_ERRORS = [
    (lambda: pyusdt.p(1, 2.5), "string 1 must be str, bytes-like or None, not float"),
    (lambda: pyusdt.p("a", 1), "string 2 must be str, bytes-like or None, not int"),
    (lambda: pyusdt.p(*"abcde"), "at most four integers, then at most four strings"),
    (lambda: pyusdt.pn(1, object()), "string 1 must be str, bytes-like or None, not object"),
    (lambda: pyusdt.user_trace_s1(1), "the message must be str, bytes-like or None, not int"),
    (lambda: pyusdt.user_trace_i4s4("tag", "a"), "integer 1 must be int or None, not str"),
    (
        lambda: pyusdt.user_trace_n(1, "tag", 1, 2, 3, 4, 5),
        "string 1 must be str, bytes-like or None, not int",
    ),
    (
        lambda: pyusdt.probe("user_trace-n1").lazy(lambda: (1,) * 9),
        "a probe call takes at most 8 arguments (9 returned)",
    ),
]


@pytest.mark.parametrize(("call", "message"), STRICT_ERRORS)
def test_strict_checks_types_while_off(call, message, strict):
    with pytest.raises(TypeError) as raised:
        call()
    assert str(raised.value) == message


def test_strict_lazy_raises(strict):
    with pytest.raises(ZeroDivisionError):
        pyusdt.probe("user_trace-n1").lazy(lambda: 1 / 0)


def test_strict_accepts_what_is_right(strict, fired):
    assert fired(lambda: pyusdt.p(1, True, None, "a", b"b", None, bytearray(b"d"))).values == [
        1,
        1,
        0,
        0,
        b"a",
        b"b",
        None,
        b"d",
    ]
    assert pyusdt.pn(1, 2, "a") is False


@pytest.mark.parametrize(("value", "is_strict"), [("1", True), ("0", False), ("", False)])
def test_strict_from_the_environment(value, is_strict):
    code = "import pyusdt; print(pyusdt.strict(False))"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYUSDT_STRICT": value},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == f"{is_strict}\n", done


def test_import_is_light(tmp_path):
    """No module but the package, its extension and what Cython puts there; no thread; no file but the control file."""
    code = (
        "import sys, os; before = set(sys.modules); files = len(os.listdir('/proc/self/fd')); import pyusdt; "
        "print(sorted(name for name in set(sys.modules) - before if 'cython' not in name), "
        "len(os.listdir('/proc/self/task')), len(os.listdir('/proc/self/fd')) - files, "
        "*os.listdir(os.environ['PYUSDT_RUNDIR']))"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={"PYUSDT_RUNDIR": str(tmp_path / "run")},
    )
    assert re.fullmatch(r"\['pyusdt', 'pyusdt._core'\] 1 0 \d+-\d+-0\.ctl\n", done.stdout), done
    assert os.listdir(tmp_path / "run") == []


def test_names_that_are_loaded_when_they_are_used():
    for name in pyusdt.__all__:
        assert getattr(pyusdt, name) is not None and name in dir(pyusdt)
    with pytest.raises(AttributeError, match="has no attribute 'no_such_name'"):
        _ = pyusdt.no_such_name
