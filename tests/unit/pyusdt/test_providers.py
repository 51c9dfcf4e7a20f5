"""Providers of run time: types, values, names, files, the cache; as the embedded engine and readelf see them."""

from __future__ import annotations

import array
import ctypes
import itertools
import math
import os
import re
import struct
import subprocess
import sys
import textwrap

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import pyusdt
from pyusdt.provider_file import make_stub, read_provider_file
from pyusdt.providers import canonical_type_name

SHOP = """
/* what a shop tells */
#pragma D attributes Evolving/Evolving/Common provider shop provider
# 1 "shop.d"
provider shop {
    probe order__placed(int64_t id, char *item, double price);  // each
    probe stock(const char *, unsigned int left, int8_t);
    probe closed();
    probe opened(void);
    probe import(int n);
    probe probe(int n);
};
"""
numbers = itertools.count()


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """An empty cache of the test's own."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("PYUSDT_CACHE", str(folder))
    return folder


@pytest.fixture
def provider(cache):
    """A provider that no other test has: what was made stays for the life of the process."""
    return pyusdt.Provider(f"unit{next(numbers)}_x")


def traced(provider, body: str):
    """The embedded engine, on the probes of a provider in this process that there are or will be."""
    return pyusdt.trace(f"{provider.name}$1:::{body}", os.getpid(), pid=os.getpid(), zdefs=True)


# ---- types and values ----


@pytest.mark.parametrize(
    ("given", "name"),
    [
        (int, "int64_t"),
        (str, "string"),
        (bytes, "string"),
        (float, "double"),
        (bool, "uint8_t"),
        ("char *", "string"),
        ("const char*", "string"),
        ("  unsigned   int ", "uint32_t"),
        ("long", "int64_t"),
        ("float", "float"),
        ("string", "string"),
    ],
)
def test_types(given, name):
    assert canonical_type_name(given) == name


@pytest.mark.parametrize("given", [None, "int33_t", "", "char **", object, list, 8])
def test_types_that_are_none(given):
    with pytest.raises(TypeError, match="an argument's type is"):
        canonical_type_name(given)


WIDTHS = [
    ("int8_t", ctypes.c_int8),
    ("int16_t", ctypes.c_int16),
    ("int32_t", ctypes.c_int32),
    ("int64_t", ctypes.c_int64),
    ("uint8_t", ctypes.c_uint8),
    ("uint16_t", ctypes.c_uint16),
    ("uint32_t", ctypes.c_uint32),
    ("uint64_t", ctypes.c_uint64),
]


def test_integers_of_each_width(provider):
    """Twelve arguments' limit, wrapping modulo each width, signs."""
    probe = provider.probe("widths", *(name for name, _ in WIDTHS), *["int16_t"] * 4)
    values = [
        0,
        1,
        -1,
        127,
        128,
        -129,
        32768,
        65536,
        1 << 31,
        -(1 << 31) - 1,
        1 << 63,
        1 << 64,
        -(1 << 70) + 5,
        True,
    ]
    shown = ", ".join(f"arg{i}" for i in range(9))
    with traced(provider, f'widths {{ printf("{" %d" * 9}", {shown}); }}') as t:
        for value in values:
            assert probe(*[value] * 8, value) is True
    got = [list(record.values[:8]) for record in t]
    expected = [
        [ctypes.c_int64(kind(int(value)).value).value for _, kind in WIDTHS] for value in values
    ]
    assert got == expected


def test_floats_strings_and_absent_ones(provider):
    probe = provider.probe("mixed", float, "float", str, bytes, int)
    texts = ", ".join(f'arg{i} ? copyinstr(arg{i}) : "-"' for i in (2, 3))
    body = f'mixed {{ printf("%x %x %s %s %d", arg0, arg1, {texts}, arg4); }}'
    rows = [
        ((2.5, 0.1, "zwölf", b"raw", 7), (2.5, 0.1, "zwölf", "raw", 7)),
        ((), (0.0, 0.0, "-", "-", 0)),
        ((None,) * 5, (0.0, 0.0, "-", "-", 0)),
        ((3, -1, 12, bytearray(b"x"), 1.5), (3.0, -1.0, "12", "x", 0)),
        (("no number", object, "a\0b", memoryview(b""), "7"), (math.nan, math.nan, "a", "", 0)),
        ((10**400, 1e300, "", "", array.array("i")), (math.nan, math.inf, "", "", 0)),
    ]
    with traced(provider, body) as t:
        for values, _ in rows:
            assert probe(*values) is True
    for record, (values, expected) in zip(t, rows, strict=True):
        got = (
            struct.unpack("<d", struct.pack("<q", record[0]))[0],
            struct.unpack("<f", struct.pack("<I", record[1] & 0xFFFFFFFF))[0],
            *record.values[2:],
        )
        wide = (expected[0], struct.unpack("<f", struct.pack("<f", expected[1]))[0], *expected[2:])
        assert repr(got) == repr(wide), values


def test_absent_ones_behind_a_text_that_has_to_be_made(provider):
    """The call before it leaves its values where this one's will be."""
    probe = provider.probe("behind", str, int, float)
    with traced(provider, 'behind { printf("%s %d %d", copyinstr(arg0), arg1, arg2); }') as t:
        for values in (
            ("text", 5, 2.5),
            (12, None, None),
            ("text", 5, 2.5),
            (12,),
            ("text", 5, 2.5),
            (12, None, 0.0),
        ):
            assert probe(*values) is True
    assert [record.values for record in t][1::2] == [("12", 0, 0)] * 3


def test_whoever_has_index_is_an_integer(provider):
    class Index:
        def __index__(self):
            return 41

    class Raising:
        def __index__(self):
            raise RuntimeError("no")

    probe = provider.probe("index", int)
    with traced(provider, "index { trace(arg0); }") as t:
        assert probe(Index()) is True
        assert probe(Raising()) is True
    assert [record[0] for record in t] == [41, 0]


def test_off_and_on(provider):
    probe = provider.probe("switch", int)
    assert not probe and probe(1) is False and probe.lazy(lambda: 1 / 0) is False
    with traced(provider, "switch { trace(arg0); }") as t:
        assert (
            probe
            and probe(1) is True
            and probe.lazy(lambda: 2) is True
            and probe.lazy(lambda: (3,)) is True
        )
    assert not probe and probe(1) is False
    assert [record[0] for record in t] == [1, 2, 3]


def test_shape_is_checked_always(provider):
    probe = provider.probe("shape", int, str)
    with pytest.raises(TypeError, match="at most 2 arguments"):
        probe(1, "a", 3)
    with pytest.raises(TypeError, match="no argument 'n' by name"):
        probe(n=1)


@pytest.mark.parametrize(
    ("types", "values", "wanted"),
    [
        ((int,), ("1",), "argument 1 must be int"),
        ((int, str), (1, 2), "argument 2 must be str"),
        ((float,), ("1",), "argument 1 must be float"),
    ],
)
def test_strict(types, values, wanted, provider):
    probe = provider.probe("strict", *types)
    before = pyusdt.strict()
    try:
        with pytest.raises(TypeError, match=wanted):
            probe(*values)
        assert probe(None) is False
    finally:
        pyusdt.strict(before)


def test_a_pending_exception_stays(provider):
    class Raising:
        def __str__(self):
            raise ValueError("inner")

    probe = provider.probe("pending", str, int)
    with traced(provider, "pending { trace(arg0); }"):
        try:
            raise KeyError("outer")
        except KeyError:
            assert probe(Raising(), Raising()) is True
            assert isinstance(sys.exc_info()[1], KeyError)


# ---- names ----


@pytest.mark.parametrize("name", ["", "9a", "shop1", "a-b", "a b", "a" * 41, "ä"])
def test_bad_provider_names(name):
    """At once: the first probe may be made much later."""
    with pytest.raises(
        ValueError, match=re.escape(f"provider {name!r}: its name is a letter or _")
    ):
        pyusdt.Provider(name)


@pytest.mark.parametrize(
    "name, shown",
    [("a\nb\x1b[1m", "'a?b?[1m'"), ("€" * 30, f"'{'€' * 21}...'"), ("a" * 300, f"'{'a' * 64}...'")],
)
def test_a_bad_name_is_shown_as_text(name, shown):
    with pytest.raises(ValueError, match=re.escape(f"provider {shown}: its name is")):
        pyusdt.Provider(name)


def test_names_with_nul_or_of_no_text():
    with pytest.raises(ValueError, match="null character"):
        pyusdt.Provider("a\0b")
    with pytest.raises(TypeError, match="must be str"):
        pyusdt.Provider(b"shop")


@pytest.mark.parametrize("name", ["", "9a", "a b", "a" * 64, "a;b", "ä"])
def test_bad_probe_names(name, provider):
    with pytest.raises(ValueError, match=re.escape(f"probe {name!r}: its name is a letter or _")):
        provider.probe(name, int)


def test_limits(provider):
    assert provider.probe("a" * 63, *[str] * 12).name == "a" * 63
    with pytest.raises(ValueError, match="at most 12"):
        provider.probe("b", *[int] * 13)


def test_one_probe_of_one_name(provider):
    """Asked again it is the same; with other types it is an error."""
    one, two = (
        provider.probe("twice__over", int),
        pyusdt.Provider(provider.name).probe("twice-over", "int64_t"),
    )
    assert (
        one.path == two.path
        and one.name == two.name == "twice-over"
        and one.provider == provider.name
    )
    with traced(provider, "twice-over { trace(arg0); }") as t:
        assert one(1) is True and two(2) is True
    assert [record[0] for record in t] == [1, 2]
    wrong = f"provider {provider.name}, probe twice-over: it was made with the arguments (int64_t), and cannot have (string, double)"
    with pytest.raises(ValueError, match=re.escape(wrong)):
        provider.probe("twice-over", str, float)
    provider.probe("full", *["uint16_t"] * 12)
    with pytest.raises(
        ValueError, match=re.escape(f"({', '.join(['uint16_t'] * 12)}), and cannot have ()")
    ):
        provider.probe("full")


def test_names_of_arguments(provider):
    """Who asks again with other names has an error, who gives none takes what there is; -lv and D: test_named_arguments.py."""
    done = provider.probe("done", int, route=str, status="int32_t")
    assert done.max_arguments == 3 and provider.probe("done", int, str, "int32_t").path == done.path
    wrong = "it was made with the arguments (int64_t, route: string, status: int32_t), and cannot have (int64_t, path: string, int32_t)"
    with pytest.raises(ValueError, match=re.escape(wrong)):
        provider._define_probes([("done", [(None, int), ("path", str), (None, "int32_t")])])

    @provider.declare
    def order_placed(number: int, item: str, price: float) -> None: ...

    assert order_placed.name == "order-placed" and order_placed.max_arguments == 3
    with traced(provider, 'order-placed { printf("%d %s", arg.number, arg.item); }') as t:
        assert order_placed(7, None, 1.5)
    assert [record.values for record in t] == [(7, "")]
    with pytest.raises(TypeError, match="the parameter item needs a type"):

        @provider.declare
        def without(number: int, item) -> None: ...


@pytest.mark.parametrize("name", ["", "0x", "a b", "a-b", "ä", "x" * 64, "a\x1b[m"])
def test_bad_names_of_arguments(name, provider):
    with pytest.raises(ValueError, match="its name is a letter or _"):
        provider.probe("bad", **{name: int})
    with pytest.raises(ValueError, match="and no other argument's"):
        provider._define_probes([("twice", [("a", int), ("a", str)])])


def test_sessions_that_are_there_see_new_probes(provider):
    """Several providers, each made while the one before is traced."""
    with traced(provider, "* { trace(probename); }") as t:
        for i in range(20):
            assert provider.probe(f"new-{i}", int)(i) is True
        assert pyusdt.Provider(f"{provider.name}y").probe("other", int)(1) is False
    assert [record[0] for record in t] == [f"new-{i}" for i in range(20)]


def test_more_probes_than_there_is_room(cache):
    """In a process of its own: what finds no room is off for the embedded engine, and does no harm."""
    code = """
        import os, pyusdt
        provider = pyusdt.Provider("many")
        rows = [(f"p{i}", [(None, int)]) for i in range(3000)]
        probes = provider._define_probes(rows) + [provider.probe(f"q{i}", int) for i in range(200)]
        with pyusdt.trace("many$1:::* { @[probename] = count(); }", os.getpid(), pid=os.getpid()) as t:
            fired = [probe(1) for probe in probes]
        room = 4095 - 953
        assert fired == [True] * room + [False] * (3200 - room), fired.index(False)
        assert len(t.aggregations[""]) == room
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=True, timeout=60)


def test_the_control_file_is_mostly_a_hole(tmp_path):
    """Also when a tracer has mapped it: what a process costs in memory is what it uses."""
    tmp_path.chmod(0o700)
    code = """
        import os, pyusdt
        with pyusdt.trace("pyusdt$1:::user_trace-s1 { trace(1); }", os.getpid(), pid=os.getpid()):
            pyusdt.user_trace_s1("x")
            (name,) = (name for name in os.listdir(os.environ["PYUSDT_RUNDIR"]) if name.endswith(".ctl"))
            state = os.stat(os.path.join(os.environ["PYUSDT_RUNDIR"], name))
        print(state.st_size, state.st_blocks * 512)
    """
    size, allocated = map(int, in_another_process(code, PYUSDT_RUNDIR=str(tmp_path)).split())
    assert size > 1 << 20 and allocated <= 40_960


# ---- files ----


def test_load(tmp_path, cache):
    path = tmp_path / "shop.d"
    path.write_text(SHOP.replace("shop", "unit_shop"))
    shop = pyusdt.load(path)
    assert list(shop.probes) == ["order-placed", "stock", "closed", "opened", "import", "probe"]
    assert len({probe.path for probe in shop.probes.values()}) == 1
    with traced(shop, 'order-placed { printf("%d %s", arg0, copyinstr(arg1)); }') as t:
        assert shop.order_placed(7, "tea", 2.5) is True
        assert shop.stock("tea", 1, 2) is False and shop.closed() is False
        assert shop.import_(1) is False and shop.probe_(1) is False
    assert [record.values for record in t] == [(7, "tea")]
    assert pyusdt.load(str(path)).order_placed.path == shop.order_placed.path


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("provider shop {\n probe a(int x);\n}", 3, "expected ';'"),
        ("provider shop {\n probe a(struct foo *x);\n};", 2, "not a type"),
        ("provider shop {\n probe a(int x,);\n};", 2, "not a type"),
        ("provider shop {\n probes a(int x);\n};", 2, "expected 'probe' or '}'"),
        ("BEGIN { exit(0); }", 1, "expected 'provider'"),
        ("provider shop { probe a(); };\nprovider bar { };", 2, "more than one provider"),
        (
            "provider shop {\n probe a_b();\n probe a__b();\n};",
            3,
            "a second probe that Python calls a_b",
        ),
        ("provider shop { probe a(@); };", 1, "not a type"),
        ("\n@", 2, "expected 'provider', not '@'"),
        ("", 1, "expected 'provider'"),
    ],
)
def test_files_that_are_wrong(text, line, message, tmp_path):
    path = tmp_path / "bad.d"
    path.write_text(text)
    with pytest.raises(ValueError, match=f"{re.escape(str(path))}:{line}: {message}"):
        read_provider_file(path)


def test_stub(tmp_path):
    """It is Python, and a type checker finds a wrong argument by it."""
    path = tmp_path / "shop.d"
    path.write_text(SHOP)
    (tmp_path / "shop.pyi").write_text(make_stub(path))
    compile((tmp_path / "shop.pyi").read_text(), "shop.pyi", "exec")
    user = tmp_path / "user.py"
    user.write_text(
        textwrap.dedent("""
        from __future__ import annotations
        from typing import TYPE_CHECKING
        import pyusdt
        if TYPE_CHECKING:
            from shop import Shop
        shop: Shop = pyusdt.load("shop.d")
        if shop.order_placed:
            shop.order_placed(1, "tea", 2.5)
        shop.stock(b"tea")
        shop.order_placed("tea")  # wrong
        shop.no_such_probe()  # wrong

        @shop.closed.wrap
        def close(number: int) -> str:
            return f"{number} {shop.closed.name} {shop.closed.path}"

        close("1")  # wrong
    """)
    )
    checked = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--config-file=", "user.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert re.findall(r"user.py:(\d+): error", checked.stdout) == ["11", "12", "18"], (
        checked.stdout + checked.stderr
    )


def test_stub_of_odd_names(tmp_path):
    """Names of arguments that Python can not have, or not twice."""
    path = tmp_path / "odd.d"
    path.write_text("provider odd { probe one(int from, int self, char *from, int arg4, int); };")
    (tmp_path / "odd.pyi").write_text(make_stub(path))
    call = next(
        line.strip()
        for line in (tmp_path / "odd.pyi").read_text().split("\n")
        if "__call__" in line
    )
    assert re.findall(r"(\w+): (\w+) \|", call) == [
        ("from_", "int"),
        ("self_", "int"),
        ("from__", "str"),
        ("arg4", "int"),
        ("arg4_", "int"),
    ]
    compile((tmp_path / "odd.pyi").read_text(), "odd.pyi", "exec")


# ---- the cache ----


def in_another_process(code: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


TELL = """
    import pyusdt
    provider = pyusdt.Provider("cached")
    probe = provider.probe("one", int, str)
    print(probe.path, provider.reason, sep="|")
"""


def test_path_is_stable_and_made_once(cache):
    first = in_another_process(TELL)
    path = first.removesuffix("|")
    made = os.stat(path)
    assert os.path.dirname(path) == str(cache) and re.fullmatch(
        r"cached-[0-9a-f]{16}\.so", os.path.basename(path)
    )
    assert in_another_process(TELL) == first and os.stat(path).st_mtime_ns == made.st_mtime_ns
    assert os.listdir(cache) == [os.path.basename(path)] and cache.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize(
    "harm", ["truncated", "other bytes", "writable by others", "symlink", "hard link"]
)
def test_a_file_that_is_not_ours_is_replaced(harm, cache, tmp_path):
    path = in_another_process(TELL).removesuffix("|")
    with open(path, "rb") as file:
        good = file.read()
    if harm == "truncated":
        os.truncate(path, 100)
    elif harm == "other bytes":
        with open(path, "r+b") as file:
            file.seek(0x250)
            file.write(b"\xcc")
    elif harm == "writable by others":
        os.chmod(path, 0o666)
    else:
        os.rename(path, tmp_path / "elsewhere")
        (os.symlink if harm == "symlink" else os.link)(tmp_path / "elsewhere", path)
    assert in_another_process(TELL) == f"{path}|"
    state = os.lstat(path)
    with open(path, "rb") as file:
        assert file.read() == good
    assert state.st_nlink == 1 and state.st_mode & 0o170022 == 0o100000


def test_what_killed_processes_left_is_not_in_the_way(cache, tmp_path):
    """Unfinished files of this process's id, as one that was killed has left them."""
    define = "pyusdt.Provider('again').probe('one', int).path"
    name = os.path.basename(
        in_another_process(f"import pyusdt; print({define})", PYUSDT_CACHE=str(tmp_path / "first"))
    )
    cache.mkdir(mode=0o700)
    made = in_another_process(f"""
        import os, pyusdt
        for i in range(20):
            open(f"{cache}/.{name}.{{os.getpid()}}.{{i}}", "w").close()
        print({define})
    """)
    assert made == str(cache / name) and os.path.getsize(made) > 0


@pytest.mark.parametrize(
    "where", ["writable cache", "writable parent", "relative", "no home", "a file", "read only"]
)
def test_no_object_where_it_is_not_safe(where, cache, tmp_path):
    """The probe is there for the embedded engine all the same."""
    environment = {"PYUSDT_CACHE": str(cache)}
    if where == "writable cache":
        cache.mkdir()
        cache.chmod(0o777)
    elif where == "writable parent":
        tmp_path.chmod(0o777)
    elif where == "a file":
        cache.write_text("")
    elif where == "read only":
        environment["PYUSDT_CACHE"] = "/proc/pyusdt"
    else:
        environment = {
            "PYUSDT_CACHE": "",
            "XDG_CACHE_HOME": "",
            "HOME": "relative" if where == "relative" else "",
        }
    code = textwrap.dedent(TELL) + textwrap.dedent("""
        import os
        with pyusdt.trace("cached$1:::one { trace(arg0); }", os.getpid(), pid=os.getpid()) as t:
            assert probe and probe(5) is True
        assert [record[0] for record in t] == [5]
    """)
    path, reason = in_another_process(code, **environment).split("|")
    assert path == "None" and "cache" in reason


@pytest.mark.skipif(os.geteuid() != 0, reason="host: not root")
def test_no_cache_of_somebody_else(cache):
    """sudo with the user's HOME, and a process that has set its effective user only."""
    cache.mkdir(mode=0o700)
    os.chown(cache, 65534, 65534)
    assert "belongs to another" in in_another_process(
        TELL
    ) or "can be changed by others" in in_another_process(TELL)
    os.chown(cache, 0, 0)
    assert in_another_process(
        "import os; os.setresgid(-1, 65534, 0)\n" + textwrap.dedent(TELL)
    ) == ("None|no cache in a process with more rights than its user")


@pytest.mark.parametrize("variable, below", [("HOME", ""), ("XDG_CACHE_HOME", "/.cache")])
def test_a_home_that_is_not_there_is_not_made(variable, below, tmp_path):
    home = tmp_path / "home"
    given = {"PYUSDT_CACHE": "", "XDG_CACHE_HOME": "", variable: f"{home}{below}"}
    assert (
        in_another_process(TELL, **given)
        == f"None|no cache: {home} is not there (PYUSDT_CACHE can name another place)"
    )
    assert not home.exists()
    home.mkdir(mode=0o700)
    assert in_another_process(TELL, **given).startswith(
        f"{home}/{'.cache/' if below or variable == 'HOME' else ''}pyusdt/cached-"
    )


@pytest.mark.skipif(os.geteuid() != 0, reason="host: not root")
@pytest.mark.parametrize(
    "how", ["his folder", "his link", "a link in his folder", "his link in a folder of everybody's"]
)
def test_root_makes_nothing_where_another_user_says(how, tmp_path):
    """sudo with the HOME of a user, who has prepared it: nothing is made, there or where his links lead."""
    home, elsewhere = tmp_path / "home", tmp_path / "elsewhere"
    home.mkdir()
    elsewhere.mkdir(mode=0o700)
    environment = {"PYUSDT_CACHE": "", "XDG_CACHE_HOME": "", "HOME": str(home)}
    if how == "his link":
        (home / ".cache").symlink_to(elsewhere)
    elif how == "a link in his folder":
        environment = {"PYUSDT_CACHE": str(home / "link/cache")}
        (home / "link").symlink_to(elsewhere)
    elif how == "his link in a folder of everybody's":
        home.chmod(0o1777)
        environment = {"PYUSDT_CACHE": str(home / "cache")}
        (home / "cache").symlink_to(elsewhere)
        os.chown(home / "cache", 54001, 54001, follow_symlinks=False)
    if home.stat().st_mode & 0o1000 == 0:
        os.chown(home, 54001, 54001)
    before = sorted(tmp_path.rglob("*"))
    path, reason = in_another_process(TELL, **environment).split("|")
    assert path == "None" and "can be changed by others" in reason
    assert sorted(tmp_path.rglob("*")) == before and not list(elsewhere.iterdir())


def test_many_processes_at_once(cache):
    """All have the object, and nothing half-made or temporary stays."""
    running = [
        subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(TELL)], stdout=subprocess.PIPE, text=True
        )
        for _ in range(8)
    ]
    said = {process.communicate(timeout=60)[0].strip() for process in running}
    assert len(said) == 1 and said.pop().startswith(str(cache)) and len(os.listdir(cache)) == 1


def test_what_readelf_says(provider):
    path = provider.probe("note-name", int, str, "uint32_t", "float", "int8_t", *[int] * 7).path
    shown = subprocess.run(
        ["readelf", "--wide", "--notes", "--program-headers", path],
        capture_output=True,
        text=True,
        check=False,
    )
    assert shown.stderr == ""
    assert f"Provider: {provider.name}\n    Name: note__name\n" in shown.stdout
    assert (
        "Arguments: -8@%rdi 8@%rsi 4@%rdx 4@%rcx -1@%r8 -8@%r9 -8@%rax -8@%r10 -8@%r11 -8@%rbx -8@%r12 -8@%r13\n"
        in shown.stdout
    )
    assert "RWE" not in shown.stdout
    with open(path, "rb") as file:
        data = file.read()
    location = int(re.search(r"Location: 0x(\w+)", shown.stdout)[1], 16)
    assert location % 16 == 0
    # of the file as in memory
    assert data[location : location + 17].hex() == "90662e0f1f8400000000000f1f440000c3"


# ---- properties ----

PLAIN = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=300)


class Spoken:
    """A text that str() makes."""

    def __init__(self, text: str):
        self.text = text

    def __str__(self) -> str:
        return self.text


VALUES = st.tuples(
    st.integers(-(1 << 66), 1 << 66) | st.none(),
    PLAIN | PLAIN.map(Spoken) | st.none(),
    st.floats(allow_nan=False) | st.none(),
    st.integers(0, 255) | st.none(),
)


@settings(
    deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(rows=st.lists(VALUES, max_size=20))
def test_random_values_arrive(rows, provider):
    probe = provider.probe("random", int, str, float, "uint8_t")
    body = 'random { printf("%d %s %d %d %d", arg0, arg1 ? copyinstr(arg1) : "", arg1 == 0, arg2, arg3); }'
    with traced(provider, body) as t:
        for row in rows:
            assert probe(*row) is True
    for record, (integer, text, real, byte) in zip(t, rows, strict=True):
        assert record[0] == ctypes.c_int64((integer or 0) & (1 << 64) - 1).value
        got = record[1] if isinstance(record[1], bytes) else record[1].encode()
        assert got == ("" if text is None else str(text)).encode()[:255] and record[2] == (
            text is None
        )  # strsize
        assert struct.pack("<q", record[3]) == struct.pack("<d", 0.0 if real is None else real)
        assert record[4] == (byte or 0)
