"""Newer OTPs than this machine's: the application is built, EUnit passes, and a node is traced from outside."""

from __future__ import annotations

import os
import re
import shutil

import pytest

from tests.erlang import (
    test_erlang_attach,
    test_erlang_profile,
    test_erlang_values,
    test_erlang_vm,
    test_erlang_vm_refusals,
    test_erltrace_watch,
)
from tests.erlang.conftest import Erlang
from tests.support import erlang_output, erlang_script_cases, erlang_vm_scripts, harness

pytestmark = pytest.mark.long
HERE = os.path.dirname(os.path.abspath(__file__))
OTP = os.path.join(HERE, "otp")
NIF = os.path.join(harness.ROOT, "erlang_nif")


@pytest.fixture(params=["trixie", "sid"], scope="module")
def otp(request, tmp_path_factory):
    """otp(COMMAND of a shell) -> Run, in a copy of erlang_nif in a chroot; otp.command: that command line."""
    if os.geteuid() != 0:
        pytest.skip("host: not root")
    made = harness.run([OTP, "setup", request.param], timeout=900)
    assert made.status == 0, made
    folder = tmp_path_factory.mktemp(request.param)
    for name in ("Makefile", "src", "c_src", "otp", "test"):
        copy = shutil.copytree if os.path.isdir(f"{NIF}/{name}") else shutil.copy
        copy(f"{NIF}/{name}", folder / name)

    def run(command: str) -> harness.Run:
        return harness.run(run.command("sh", "-ec", command), timeout=600, cwd=folder)

    run.command = lambda *words: [OTP, "run", request.param, *words]
    run.newest, run.folder = request.param == "sid", folder
    return run


def test_built_tested_and_traced(otp):
    release = otp(
        "erl -noshell -eval 'io:put_chars(erlang:system_info(otp_release)), halt().'"
    ).stdout
    assert int(release) >= (29 if otp.newest else 27)
    built = otp(
        f"make -s PYUSDT_ROOT={harness.ROOT} && erlc -pa ebin -o ebin test/*_tests.erl {HERE}/programs/*.erl"
    )
    assert built.status == 0, built
    tested = otp(
        "erl -noshell -pa ebin -eval 'io:format(\"~p\", [eunit:test([pyusdt_tests, pyusdt_instrument_tests, pyusdt_vm_tests, dyntrace_tests, erltrace_dump_tests])]), halt().'"
    )
    assert tested.stdout.split()[-1] == "ok", tested
    program = "erlang*:::user_trace-i4s4 { @ = count(); }"
    node = otp.command(
        "erl", "-noshell", "-pa", str(otp.folder / "ebin"), "-run", "fires", "count", "4", "100"
    )
    run = harness.run(
        [harness.PYDTRACE, "-qZ", "-x", "engine=embedded", "-n", program, "-c", " ".join(node)],
        timeout=120,
    )
    assert run.stdout.split() == ["400", "400"], run
    printed = otp.folder / "printed"
    node = otp.command(
        "erl", "-noshell", "-pa", str(otp.folder / "ebin"), "-run", "own", "terms", str(printed)
    )
    run = harness.run(
        [
            harness.PYDTRACE,
            "-qZ",
            "-x",
            "engine=embedded",
            "-x",
            "strsize=2000",
            "-n",
            'shop*:::term { printf("%s\\n", term(arg1)); }',
            "-c",
            " ".join(node),
        ],
        timeout=120,
    )
    assert run.stdout.splitlines()[:-1] == printed.read_text().splitlines(), run


def test_all_events_of_telemetry(otp):
    """By a trace session: those that are in no list, too, each once, and none of its own is left behind."""
    built = otp(
        f"make -s PYUSDT_ROOT={harness.ROOT} && erlc -o ebin {HERE}/programs/instrumented.erl {HERE}/programs/telemetry.erl"
    )
    assert built.status == 0, built
    node = otp.command(
        "erl",
        "-noshell",
        "-pa",
        str(otp.folder / "ebin"),
        "-run",
        "instrumented",
        "everything",
        "20",
    )
    run = harness.run(
        [
            harness.PYDTRACE,
            "-qZ",
            "-x",
            "engine=embedded",
            "-n",
            erlang_output.EVENTS,
            "-c",
            " ".join(node),
        ],
        timeout=120,
    )
    assert erlang_output.rows(run) == [
        "210",
        "<redacted> 20",
        "in.no.list 20",
        "phoenix.endpoint.stop 20",
        "shop.order.placed 20",
        "tea 20",
    ], run
    left = otp(
        "erl -noshell -pa ebin -eval 'ok = pyusdt_instrument:enable(), Before = trace:session_info(all), ok = pyusdt_instrument:disable(),"
        ' io:format("~b ~0p", [length(Before), trace:session_info(all)]), halt().\''
    )
    assert re.fullmatch(r"2 \[\{legacy,default\}\]", left.stdout), left


def test_on_and_off_and_beside_another_session(otp):
    built = otp(f"make -s PYUSDT_ROOT={harness.ROOT} && erlc -o ebin {HERE}/programs/vm.erl")
    assert built.status == 0, built

    def traced(program, *words):
        node = otp.command("erl", "-noshell", "-pa", str(otp.folder / "ebin"), "-run", "vm", *words)
        return harness.run(
            [harness.PYDTRACE, "-qZ", "-x", "engine=embedded", "-n", program, "-c", " ".join(node)],
            timeout=3 * 3600,
        )

    run = traced(erlang_vm_scripts.TOGGLED, "toggles", "10000")
    assert erlang_output.found(run, r"toggled 10000, 0 left"), run
    run = traced(
        "erlang*:::gc_major-start, erlang*:::process-spawn { @[probename] = count(); }",
        "collected_elsewhere",
        "none",
    )
    assert (
        "another trace session traces garbage collection" in run.stdout
        and "gc_major-start " not in run.stdout
    ), run


class There:
    """The fixtures `erlang` and `trace` of a test of this machine's OTP, for that of the chroot."""

    def __init__(self, otp):
        self.otp = otp

    def node(self, function, *arguments, options=(), module="fires"):
        return self.otp.command(
            "erl",
            "-noshell",
            *options,
            "-pa",
            str(self.otp.folder / "ebin"),
            "-run",
            module,
            function,
            *map(str, arguments or ["none"]),
        )

    def trace(self, program, node, *options, timeout=120):
        return harness.run(
            [
                harness.PYDTRACE,
                "-qZ",
                "-x",
                "engine=embedded",
                *options,
                "-n",
                program,
                "-c",
                " ".join(node),
            ],
            timeout=timeout,
        )


def test_more_than_otp_had(otp):
    built = otp(
        f"make -s PYUSDT_ROOT={harness.ROOT} && erlc -o ebin {HERE}/programs/vm.erl {HERE}/programs/served.erl"
    )
    assert built.status == 0, built
    there = There(otp)
    for test in (
        test_erlang_vm.test_tables,
        test_erlang_vm.test_servers,
        test_erlang_vm.test_supervisors_and_loaded_code,
        test_erlang_vm.test_sockets_that_are_ports,
        test_erlang_vm.test_sockets_of_the_module_socket,
    ):
        test(there, there.trace)


def test_own_scripts(otp, monkeypatch):
    """All but that over two nodes, for which there is no epmd."""
    built = otp(f"make -s PYUSDT_ROOT={harness.ROOT} && erlc -o ebin {HERE}/programs/*.erl")
    assert built.status == 0, built
    monkeypatch.setenv("VM_OPTIONS", "#{functions => [scripted]}")
    monkeypatch.setenv("VM_FOLDER", str(otp.folder))
    for name in sorted(set(erlang_script_cases.CASES) - {"erl-request"}):
        erlang_script_cases.finds(There(otp), name)


def test_scripts_of_otp(otp, monkeypatch):
    """The emulator's own probes; from OTP 27 on messages have their sequential trace tokens."""
    built = otp(f"make -s PYUSDT_ROOT={harness.ROOT} && erlc -o ebin {HERE}/programs/vm.erl")
    assert built.status == 0, built
    monkeypatch.setenv("VM_OPTIONS", "#{functions => [vm]}")
    examples = (
        harness.run(
            ["erl", "-noshell", "-eval", "io:put_chars(code:lib_dir(runtime_tools)), halt()."]
        ).stdout
        + "/examples"
    )
    for script, function, n, check in erlang_vm_scripts.SCRIPTS:
        node = otp.command(
            "erl", "-noshell", "-pa", str(otp.folder / "ebin"), "-run", "vm", function, str(n)
        )
        run = harness.run(
            [
                harness.PYDTRACE,
                "-qZ",
                "-x",
                "engine=embedded",
                "-s",
                f"{examples}/{script}.d",
                "-c",
                " ".join(node),
            ],
            timeout=120,
        )
        (erlang_vm_scripts.tokens if script == "messages" else check)(run, n)


# ---- tests of this machine's OTP, in which `erl` and `erlc` are those of the chroot ----


@pytest.fixture
def there(otp, monkeypatch):
    """The fixture `erlang` of such a test."""
    built = otp(
        f"make -s PYUSDT_ROOT={harness.ROOT} && mkdir -p programs && erlc +debug_info -o programs {HERE}/programs/*.erl"
    )
    assert built.status == 0, built
    commands = otp.folder / "commands"
    commands.mkdir(exist_ok=True)
    for name in ("erl", "erlc"):
        (commands / name).write_text(f'#!/bin/sh\nexec {" ".join(otp.command(name))} "$@"\n')
        (commands / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{commands}:{os.environ['PATH']}")
    return Erlang(str(otp.folder / "ebin"), str(otp.folder / "programs"))


def test_values(there):
    test_erlang_values.test_arguments_and_results(there)


@pytest.mark.parametrize(
    "test",
    [
        test_erltrace_watch.test_calls,
        test_erltrace_watch.test_conditions,
        test_erltrace_watch.test_a_caller_that_is_killed,
        test_erltrace_watch.test_the_encoding_is_read,
        test_erltrace_watch.test_top,
    ],
)
def test_watch_and_top(there, test):
    test(test_erltrace_watch.make_evaluate(there))


@pytest.mark.parametrize("mode", ["interactive", "embedded"])
def test_attach(there, epmd, mode):
    test_erlang_attach.test_nothing_is_left(there, epmd, mode)


def test_functions_are_listed_and_watched(there, epmd):
    test_erlang_attach.test_functions_are_listed(there, epmd)
    test_erlang_attach.test_functions_are_watched(there, epmd)


@pytest.mark.parametrize("clause", test_erlang_vm_refusals.CLAUSES)
def test_floods(there, clause):
    test_erlang_vm_refusals.test_the_rate_holds_while_it_is_applied(
        test_erlang_vm_refusals.make_node(there), clause, 20
    )


def test_profile(there, epmd, tmp_path):
    for others in (20, 2000):
        test_erlang_profile.test_shares(there, epmd, others)
    test_erlang_profile.test_flame_graph_labels_and_folded_stacks(there, epmd, tmp_path)
    test_erlang_profile.test_deep_stacks_are_cut(there, epmd)
    test_erlang_profile.test_nothing_is_left(there, epmd)
    test_erlang_profile.test_beside_attach(there, epmd)
