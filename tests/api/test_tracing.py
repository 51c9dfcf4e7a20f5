"""The consumer API on the embedded engine: this process traces itself, or a command."""

import os
import pickle
import subprocess
import sys
import threading
import time
import warnings

import pytest

import pyusdt

ALL_ARGUMENTS = """pyusdt*:::user_trace-i4s4 { printf("n=%d route=%s", arg2, copyinstr(arg6)); trace(arg3);
    @lat[copyinstr(arg6), arg2 % 2] = quantize(arg3); @n = count(); }"""


def traced(script, **more):
    return pyusdt.trace(script, pid=os.getpid(), **more)


def is_traced():
    """Whether a session has this process.  (A probe may be on because somebody traces all processes of the machine.)"""
    return any(name.endswith(".area") for name in os.listdir(os.environ["PYUSDT_RUNDIR"]))


def test_importing_pyusdt_imports_none_of_it():
    code = (
        "import sys; before = set(sys.modules); import pyusdt; new = set(sys.modules) - before; "
        "rooms = tuple('pyusdt.' + room for room in ('api', 'data', 'dlang', 'engine', 'report', 'tracing'));"
        "assert not [m for m in new if m.startswith(rooms) or m in ('asyncio', 'threading', 'typing')], new;"
        "pyusdt.trace; assert 'pydtrace.consumer.tracing' in sys.modules"
    )
    subprocess.run(
        [sys.executable, "-S", "-c", code],
        check=True,
        env={**os.environ, "PYTHONPATH": ":".join(sys.path)},
    )


def test_what_print_shows_is_plain_data():
    script = """struct pt { int x; char n[6]; union { int w; char v; } u; unsigned b:3; double d; int m[2]; enum e { A, B } k; };
        BEGIN { this->p = (struct pt *)alloca(sizeof (struct pt)); this->p->x = -4; this->p->n[0] = 'h'; this->p->u.w = 65;
                this->p->b = 5; this->p->m[1] = 3; this->p->k = B; print(this->p); print(&this->p->x); exit(0); }"""
    with traced(script) as t:
        record = next(iter(t))
    assert record.names == ("this->p", "&this->p->x")
    assert record[0] == {
        "x": -4,
        "n": "h",
        "u": {"w": 65, "v": 65},
        "b": 5,
        "d": 0.0,
        "m": [0, 3],
        "k": "B",
    }
    assert record[1] == -4


def test_stacks_and_names_are_values_and_keys():
    """BEGIN fires in the tracer, this process: it has frames."""
    script = """struct pair { int a, b; };
        BEGIN { ustack(3); umod(ucaller); tracemem(alloca(8), 8, 3); trace(*(struct pair *)alloca(8)); printf("n=%d", 4);
                @stacks[ustack(2), 5] = count(); @names[umod(ucaller), "x"] = sum(7); exit(0); }"""
    with traced(script) as t:
        (rec,) = t
    assert rec.names == (
        "ustack(3)",
        "umod(ucaller)",
        "alloca(8)",
        "*(struct pair *)alloca(8)",
        "n",
    )
    stack, module, memory, pair, n = rec
    assert 1 <= len(stack) <= 3 and all(isinstance(name, str) for name in stack)
    assert (type(module), memory, pair, n) == (str, bytes(3), bytes(8), 4)
    stacks, names = t.aggregations["stacks"], t.aggregations["names"]
    ((frames, five),) = stacks
    assert (frames[0].partition("+")[0], five) == (stack[0].partition("+")[0], 5)
    assert dict(names) == {(module, "x"): 7}
    for aggregation in (stacks, names):
        again = pickle.loads(pickle.dumps(aggregation))
        assert dict(again) == dict(aggregation)
        assert again.merge(aggregation).text().strip()
        assert all(name in again.text() for name in (frames if aggregation is stacks else [module]))
    assert stacks.to_dict()["rows"][0]["keys"] == [list(frames), 5]


@pytest.mark.filterwarnings("ignore:error in dt_clause")
def test_an_event_of_a_process_does_not_show_the_frames_of_the_tracer():
    """The embedded engine has them while it fires BEGIN, tick-n and their ERROR itself."""
    show = 'printf("depth=%d", ustackdepth); ustack(3); jstack(2); ufunc(ucaller); stack(2); @[probename, ustack()] = count();'
    script = f"""BEGIN, ERROR, tick-1ms, pyusdt$target:::user_trace-n7 {{ {show} }}
                 BEGIN, pyusdt$target:::user_trace-n7 {{ trace(*(int *)0); }}"""
    with traced(script, engine="embedded") as t:
        records = iter(t)
        begin, error, tick = (next(records) for _ in range(3))
        assert pyusdt.pn(7, 1) and pyusdt.pn(7, 2)
    assert [rec.probe.name for rec in (begin, error, tick)] == ["BEGIN", "ERROR", "tick-1ms"]
    assert min(rec["depth"] for rec in (begin, error, tick)) > 0
    seen = [rec for rec in records if rec.probe.name != "tick-1ms"]
    assert [rec.probe.name for rec in seen] == ["user_trace-n7", "ERROR"] * 2
    for depth, user, language, caller, kernel in (rec.values for rec in seen):
        assert depth > 3
        natives = [text for text in user if "`" in text]
        assert 1 <= len(natives) <= 2 and "_tracer" not in "".join(natives)
        assert (
            language[0]
            == f"test_an_event_of_a_process_does_not_show_the_frames_of_the_tracer ({__file__}:99)"
        )
        assert user == (*natives, *language[: 3 - len(natives)])
        assert (caller, kernel) == (user[1].partition("+")[0], ())
    own = [
        count
        for (_, stack), count in t.aggregations[""].items()
        if stack and stack[0] == seen[0].values[1][0]
    ]
    assert own == [2, 2]


def test_names_for_which_there_was_no_time_are_told(monkeypatch):
    monkeypatch.setattr("pydtrace.driver.address_symbolizer._OWN_BURST", -1.0)
    told = f"names of functions of user {os.getuid()}'s processes were not all read"
    with (
        pytest.warns(pyusdt.TraceWarning, match=told),
        traced("pyusdt$target:::user_trace-n7 { usym(arg2); }") as t,
    ):
        assert pyusdt.pn(7, 16)
    assert [rec.values[0] for rec in t] == ["0x10"]


def test_floats_are_floats():
    sold = pyusdt.Provider("apifloats").probe("sold", str, float)
    with traced(
        """provider apifloats { probe sold(char *what, double price); };
                apifloats*:::sold { printf("%s price=%f", stringof(args[0]), args[1]); @[copyinstr(arg0)] = sum(args[1]); @mean = avg(args[1]);
                @spread = stddev(args[1]); }""",
        pyusdt=True,
    ) as t:
        for price in (1.5, 2.5, 0.25):
            sold("tea", price)
    assert [rec["price"] for rec in t] == [1.5, 2.5, 0.25]
    total = t.aggregations[""]["tea"]
    assert (total, total.n, total.function, t.aggregations["mean"].value) == (
        4.25,
        3,
        "sum",
        4.25 / 3,
    )
    again = pickle.loads(pickle.dumps(t.aggregations["spread"]))
    assert (again.value, again.merge(again).value.n, again.function) == (
        t.aggregations["spread"].value,
        6,
        "stddev",
    )


def test_records_are_typed_and_in_order():
    with traced(ALL_ARGUMENTS) as t:
        for i in range(100):
            assert pyusdt.p(i, i * 10, "/zwölf")
    records = list(t)
    assert [rec["n"] for rec in records] == list(range(100))
    assert [rec.time for rec in records] == sorted(rec.time for rec in records)
    rec = records[7]
    assert (rec.values, rec.names) == ((7, "/zwölf", 70), ("n", "route", "arg3"))
    assert (rec[0], rec["route"], rec["arg3"], len(rec), list(rec)) == (
        7,
        "/zwölf",
        70,
        3,
        [7, "/zwölf", 70],
    )
    assert (rec.pid, rec.tid) == (os.getpid(), threading.get_native_id())
    assert (rec.probe.provider, rec.probe.name) == (f"pyusdt{os.getpid()}", "user_trace-i4s4")
    assert rec.probe.function == "user_trace_i4s4"


@pytest.mark.parametrize("bufsize", ["4m", "64m", "256m"])
@pytest.mark.filterwarnings("error::pyusdt.TraceWarning")
def test_no_first_event_is_lost_in_a_large_buffer(bufsize):
    """The threads fire for the first time at the same moment."""
    together = threading.Barrier(8)

    def fire():
        together.wait(20)
        for _ in range(50):
            pyusdt.pn(9)

    with traced("pyusdt$target:::user_trace-n9 { @[tid] = count(); }", bufsize=bufsize) as t:
        threads = [threading.Thread(target=fire) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(t.aggregations[""].values()) == [50] * 8


def test_names_are_utf8_as_the_script_is():
    script = (
        'BEGIN { trace("größe"); printf("größe=%d breite=%s", 7, strjoin("ß", "x")); exit(0); }'
    )
    with pyusdt.trace(script, all=True) as t:
        (rec,) = t
    assert (
        rec.names == ('"größe"', "größe", "breite")
        and rec["größe"] == 7
        and rec.values == ("größe", 7, "ßx")
    )


def test_all_aggregations_pickled_are_a_dict_of_snapshots():
    with pyusdt.trace("BEGIN { @n = count(); @[7] = sum(3); exit(0); }", all=True) as t:
        list(t)
    again = pickle.loads(pickle.dumps(t.aggregations))
    assert list(again) == ["n", ""] and again["n"].value == 1 and again[""][7] == 3
    assert repr(t.aggregations) == "<aggregations: @n, @_>"


def test_records_are_frozen_and_can_be_pickled():
    with traced(ALL_ARGUMENTS) as t:
        pyusdt.p(1, 2, "a")
    (rec,) = t
    with pytest.raises(AttributeError):
        rec.pid = 1
    with pytest.raises(KeyError, match="route"):
        rec["nothing"]
    again = pickle.loads(pickle.dumps(rec))
    assert (again.probe, again.values, again.names, again.time) == (
        rec.probe,
        rec.values,
        rec.names,
        rec.time,
    )


def test_strings_that_are_not_utf8_are_bytes():
    with traced(
        "pyusdt*:::user_trace-i4s4 { trace(copyinstr(arg6)); @[copyinstr(arg6)] = count(); }"
    ) as t:
        pyusdt.p(b"\xff\xfe")
        pyusdt.p("ok")
    assert [rec[0] for rec in t] == [b"\xff\xfe", "ok"]
    assert set(t.aggregations[""]) == {(b"\xff\xfe",), ("ok",)}


def test_the_first_records_come_while_tracing():
    with traced(ALL_ARGUMENTS) as t:
        pyusdt.p(5, 6, "now")
        assert next(t)["route"] == "now"


def test_aggregations_are_live_and_last():
    with traced(ALL_ARGUMENTS) as t:
        pyusdt.p(1, 10, "/a")
        while not t.aggregations["n"]:
            time.sleep(0.005)
        first = t.aggregations["n"].value
        pyusdt.p(2, 10, "/a")
        pyusdt.p(2, 100, "/a")
    assert (first, t.aggregations["n"].value) == (1, 3)
    lat = t.aggregations["lat"]
    assert set(lat) == {("/a", 0), ("/a", 1)}
    assert [tuple(b) for b in lat["/a", 0].buckets] == [(8, 15, 1), (64, 127, 1)]
    assert (lat.name, lat.function, t.aggregations.keys()) == ("lat", "quantize", {"lat", "n"})
    assert "bytes" not in t.aggregations
    with pytest.raises(KeyError, match="@bytes: the script has @lat, @n"):
        t.aggregations["bytes"]


def test_end_runs_when_the_block_is_left():
    with traced("pyusdt*:::user_trace-i4s4 { n++; } END { trace(n); }") as t:
        for _ in range(3):
            pyusdt.p(1)
        assert is_traced()
    assert [(rec.probe.name, rec[0]) for rec in t] == [("END", 3)]
    assert not is_traced()


def test_exit_ends_the_iteration():
    with pyusdt.trace(
        "BEGIN { trace(1); } tick-10ms { exit(7); } END { trace(2); }", all=True
    ) as t:
        assert [rec[0] for rec in t] == [1, 2]
        assert (t.status, t.finished) == (7, True)


def test_a_command_is_traced_from_its_first_probe():
    code = "import pyusdt; [pyusdt.p(i) for i in range(5)]; raise SystemExit(3)"
    with pyusdt.trace(
        "pyusdt$target:::user_trace-i4s4 { trace(arg2); }", cmd=[sys.executable, "-c", code]
    ) as t:
        assert [rec[0] for rec in t] == [0, 1, 2, 3, 4]
    assert t.returncode == 3


def test_a_command_may_be_a_line_with_quotes():
    with pyusdt.watch(
        "user_trace-i4s4", cmd=f"{sys.executable} -c 'import pyusdt; pyusdt.p(7)'"
    ) as t:
        assert [rec["i1"] for rec in t] == [7]
    assert t.returncode == 0


def test_actions_on_aggregations_are_done():
    script = r"""pyusdt*:::user_trace-i4s4 /arg2 > 0/ { @a[arg2] = count(); @b = count(); }
        pyusdt*:::user_trace-i4s4 /arg2 == 0/ { printa("%d %@d\n", @a); trunc(@a); clear(@b); }"""
    with traced(script) as t:
        for i in (1, 2, 0, 3):
            pyusdt.p(i)
        pyusdt.p(3)
        while not t.aggregations["b"] or t.aggregations["b"].value != 2:
            time.sleep(0.005)
    assert "".join(t.printed).split("\n") == ["1 1", "2 1", ""]
    assert dict(t.aggregations["a"]) == {(3,): 2}


@pytest.mark.filterwarnings(
    "ignore:self-> variables"
)  # another test of this process has used asyncio
def test_what_is_speculated_comes_if_it_is_committed():
    script = """pyusdt*:::user_trace-i4s4 /arg2 == 0/ { self->s = speculation(); }
        pyusdt*:::user_trace-i4s4 /self->s && arg2 < 9/ { speculate(self->s); trace(arg2); }
        pyusdt*:::user_trace-i4s4 /arg2 == 9/ { commit(self->s); }"""
    with traced(script) as t:
        for i in (0, 1, 2):
            pyusdt.p(i)
        assert t.available() == []
        pyusdt.p(9)
    assert [rec[0] for rec in t] == [0, 1, 2]


def test_destructive_actions_have_to_be_allowed():
    with (
        pytest.raises(pyusdt.EngineError, match="destructive=True"),
        traced('BEGIN { system("true"); }'),
    ):
        pass


def test_buffers_that_are_too_small_are_refused():
    with (
        pytest.raises(pyusdt.EngineError, match="Enabling exceeds size of buffer"),
        traced("BEGIN { trace(1); }", bufsize=8),
    ):
        pass


def test_ftruncate_has_no_file_to_empty():
    """It ended the tracing with an error of ours."""
    with traced("BEGIN { ftruncate(); trace(1); exit(0); }", destructive=True) as t:
        assert [rec.values for rec in t] == [(1,)]


def test_macro_arguments_and_options():
    with pyusdt.trace(
        'BEGIN { trace($1); trace($$2); trace("abcdef"); exit(0); }', 5, "five", all=True, strsize=4
    ) as t:
        assert list(next(t))[:2] == [5, "fiv"]


def test_a_compile_error_tells_its_place():
    with pytest.raises(pyusdt.CompileError) as caught:
        pyusdt.trace("BEGIN\n{ trace(nothing); }", all=True)
    assert (caught.value.tag, caught.value.loc.line, caught.value.loc.column) == (
        "D_IDENT_UNDEF",
        2,
        9,
    )
    assert str(caught.value).split("\n")[:3] == [  # what a traceback shows
        "failed to resolve nothing: Unknown variable name",
        f"{caught.value.loc}: [D_IDENT_UNDEF]",
        "    { trace(nothing); }",
    ]


def test_a_clause_may_be_a_description_alone():
    with traced("pyusdt$target:::user_trace-i4s4") as t:
        pyusdt.p(1)
    assert [(rec.probe.name, rec.values) for rec in t] == [("user_trace-i4s4", ())]


def test_probes_that_do_not_exist_are_an_error():
    with (
        pytest.raises(pyusdt.CompileError, match="does not match any") as caught,
        traced("pyusdt*:::nothing { }"),
    ):
        pass
    assert caught.value.tag == "D_PDESC_ZERO"


@pytest.mark.parametrize("wrong", [{}, {"pid": 1, "all": True}, {"pid": 1, "cmd": ["x"]}])
def test_what_to_trace_has_to_be_named(wrong):
    with pytest.raises(TypeError, match="exactly one"):
        pyusdt.trace("BEGIN { }", **wrong)


def test_options_that_do_not_exist_are_an_error():
    with pytest.raises(ValueError, match="nosuch: Invalid option name"):
        pyusdt.trace("BEGIN { }", all=True, nosuch=1)


def test_a_process_that_does_not_exist_is_an_error():
    with (
        pytest.raises(pyusdt.EngineError, match=f"No such process: {2**22 + 1}"),
        pyusdt.trace("pyusdt*:::s1 { }", pid=2**22 + 1),
    ):
        pass


def test_run_time_errors_are_told():
    script = "pyusdt*:::user_trace-i4s4 { trace(1 / arg2); }"
    with pytest.warns(pyusdt.TraceWarning, match="divide-by-zero"), traced(script) as t:  # noqa: PT031
        pyusdt.p(0)
        pyusdt.p(0)
    assert (len(t.faults), list(t)) == (2, [])


def test_the_same_run_time_error_is_counted_from_the_fourth_on():
    script = "pyusdt*:::user_trace-i4s4 { trace(copyinstr(arg1)); } ERROR { @ = count(); }"
    with pytest.warns(pyusdt.TraceWarning, match="invalid address"), traced(script) as t:  # noqa: PT031
        for i in range(1000):
            pyusdt.p(i)
    assert (len(t.faults), t.faults[-1][:13]) == (4, "997 more of: ")
    assert t.aggregations[""].value == 1000  # ERROR fires each time


def test_what_is_fired_is_delivered_or_counted():
    """A reader that takes nothing: at most `buffer` records wait, the rings fill, what they lose is counted."""
    fired, probe = 60_000, pyusdt.probe("user_trace-i4s4")
    script = "pyusdt*:::user_trace-i4s4 { trace(arg2); }"
    with (  # noqa: PT031
        pytest.warns(pyusdt.TraceWarning, match="lost"),
        traced(script, buffer=1000, bufsize="64k") as t,
    ):
        for i in range(fired):
            probe(i)
    values = [rec[0] for rec in t]
    assert t.drops["principal"] > 0
    assert len(values) + t.drops["principal"] == fired
    assert values == sorted(values)


def test_the_engine_is_named():
    with traced("pyusdt*:::user_trace-s1 { }", engine="embedded") as t:
        assert (t.engine, t.engine_reason) == ("embedded", "as -x engine says")


def test_an_exception_in_the_block_ends_the_tracing():
    with pytest.raises(ZeroDivisionError), traced(ALL_ARGUMENTS) as t:
        raise ZeroDivisionError
    assert t.finished and not is_traced()


def test_no_warning_without_a_reason():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with traced(ALL_ARGUMENTS) as t:
            pyusdt.p(1, 2, "x")
    assert len(list(t)) == 1


def test_watch_needs_no_script():
    with pyusdt.watch("user_trace-i4s4", "user_trace-s1", where="arg0 != 0", pid=os.getpid()) as t:
        with pyusdt.tag("the tag"):
            pyusdt.p(200, -1, "GET")
        pyusdt.user_trace_s1("hello")
    first, second = t
    assert first["proc"].startswith(f"<{os.getpid()}.")
    assert {**dict(zip(first.names, first)), "proc": ""} == {
        "proc": "",
        "user_tag": "the tag",
        "i1": 200,
        "i2": -1,
        "i3": 0,
        "i4": 0,
        "s1": "GET",
        "s2": "",
        "s3": "",
        "s4": "",
    }
    assert second["message"] == "hello"
