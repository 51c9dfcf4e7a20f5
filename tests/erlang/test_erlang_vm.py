"""The emulator's own probes: OTP's example scripts, unchanged, over work that knows its own counts; and what keeps a node safe.

The same on newer OTPs: test_erlang_newer_otp.py takes SCRIPTS.
"""

from __future__ import annotations

import contextlib
import glob
import pathlib
import re
import signal
import time

import pytest

from pydtrace.engine import erlang_vm_hints
from tests.support import harness
from tests.support.erlang_output import found, lines
from tests.support.erlang_vm_scripts import SCRIPTS, TOGGLED

pytestmark = pytest.mark.xdist_group(
    "erlang/test_erlang_vm"
)  # nodes of its own, and no probe that others could see


@pytest.fixture(scope="session")
def examples(erlang):
    """OTP's scripts."""
    folder = erlang.evaluate("io:put_chars(code:lib_dir(runtime_tools))").stdout
    assert glob.glob(f"{folder}/examples/spawn-exit.d"), (
        f"no examples in {folder}: .ci/packages.txt names the package"
    )
    return f"{folder}/examples"


# ---- what each script prints of the work of programs/vm.erl ----


@pytest.mark.parametrize(
    ("script", "function", "n", "check"), SCRIPTS, ids=[f"{row[0]}-{row[1]}" for row in SCRIPTS]
)
def test_scripts_of_otp(erlang, examples, script, function, n, check, monkeypatch):
    monkeypatch.setenv("VM_OPTIONS", "#{functions => [vm]}")
    command = " ".join(erlang.node(function, n, module="vm"))
    check(
        harness.run(
            [
                harness.PYDTRACE,
                "-qZ",
                "-x",
                "engine=embedded",
                "-s",
                f"{examples}/{script}.d",
                "-c",
                command,
            ],
            timeout=120,
        ),
        n,
    )


# ---- probes that OTP's scripts do not show ----


def test_two_nodes(erlang, examples, epmd):
    """dist.d of OTP, unchanged, erl-dist.d, and the events of one node that has to do with another."""
    program = """erlang*:::message-send-remote { @[probename, copyinstr(arg0), copyinstr(arg1), copyinstr(arg2), arg3] = count(); }
                 erlang*:::process-exit_signal-remote { @[probename, copyinstr(arg0), copyinstr(arg1), copyinstr(arg2), 0] = count(); }
                 erlang*:::dist-port_not_busy { @busy[probename, copyinstr(arg2)] = count(); }"""
    command = " ".join(erlang.node("far", 20, module="vm", options=("+zdbbl", "1")))
    run = harness.run(
        [
            harness.PYDTRACE,
            "-qZ",
            "-x",
            "engine=embedded",
            "-x",
            "strsize=200",
            "-s",
            f"{examples}/dist.d",
            "-s",
            f"{harness.ROOT}/scripts/erl-dist.d",
            "-n",
            program,
            "-c",
            command,
        ],
        timeout=120,
    )
    me, pid, there, busy, comes = (
        re.escape(text)
        for text in found(run, r"(<[\d.]+>) (<[\d.]+>) ('\S+') (<[\d.]+>) ('\S+')")[0].groups()
    )
    here = r"'\S+@" + there.split("@")[1]
    assert found(run, rf" *message-send-remote +{me} +{there} +{pid} +8 +20"), run
    assert found(run, rf" *message-send-remote +{me} +{there} +named +8 +1"), run
    assert found(run, rf" *process-exit_signal-remote +{me} +{there} +{pid} +0 +1"), run
    assert found(
        run,
        rf"monitor: pid \d+, who {here}, what nodeup, node {comes}, type visible, reason undefined",
    ), run
    assert found(
        run,
        rf"monitor: pid \d+, who {here}, what nodedown, node {comes}, type visible, reason connection_closed",
    ), run
    assert found(
        run,
        rf"dist port_busy: node {here}, port #Port<[\d.]+>, remote_node {there}, blocked pid {busy}",
    ), run
    assert found(run, rf"blocked pid {busy} scheduled now, waited \d+ microseconds"), run
    assert found(run, rf" *dist-port_not_busy +{there} +\d+"), run
    assert found(run, rf"  {here} -> {there} +\d+"), run  # the queue, in % of 1024 bytes
    assert found(run, rf"  {busy} -> {there} +[1-9]\d* +\d+"), run
    sent = [
        int(match[1])
        for match in found(
            run, rf"port outputv: node \S+, port #Port<[\d.]+>, remote_node {there} bytes (\d+)"
        )
    ]
    assert sum(sent) > 30_000_000, run


def test_drivers(erlang, trace):
    program = """erlang*:::driver-output { @[probename, copyinstr(arg0), copyinstr(arg2), arg3 >= 5] = count(); }
                 erlang*:::port-busy, erlang*:::port-not_busy { @[probename, copyinstr(arg0), "", 1] = count(); }
                 erlang*:::process-port_unblocked { @[probename, copyinstr(arg0), copyinstr(arg1), 1] = count(); }
                 erlang*:::driver-call { @[probename, copyinstr(arg0), copyinstr(arg2), arg3] = count(); }
                 erlang*:::driver-init, erlang*:::driver-finish { @[probename, copyinstr(arg0), "", 1] = count(); }"""
    run = trace(program, erlang.node("drives", 20, module="vm"))
    me, port = (
        re.escape(text) for text in found(run, r"(<[\d.]+>) (#Port<[\d.]+>) drove")[0].groups()
    )
    for row in (
        rf"driver-output +{me} +udp_inet +1 +20",
        rf"port-busy +{port} +1 +\d+",
        rf"port-not_busy +{port} +1 +\d+",
        rf"process-port_unblocked +{me} +{port} +1 +\d+",
        rf"driver-call +{me} +sh -c .sleep.* +7 +1",
        r"driver-init +no_such_driver +1 +1",
        r"driver-finish +no_such_driver +1 +1",
    ):
        assert found(run, rf" *{row}"), (row, run)


def test_functions_of_each_kind(erlang, trace):
    program = """erlang*:vm:entered:global-function-entry, erlang*:prim_file:get_cwd_nif:nif-entry, erlang*:prim_file:get_cwd_nif:nif-return,
                 erlang*:erlang:phash2:bif-return { @[probename, copyinstr(arg1)] = count(); }"""
    run = trace(program, erlang.node("sorts", 20, module="vm"))
    for row in (
        "global-function-entry +vm:entered/1",
        "nif-entry +prim_file:get_cwd_nif/0",
        "nif-return +prim_file:get_cwd_nif/0",
        "bif-return +erlang:phash2/1",
    ):
        assert found(run, rf" *{row} +20"), (row, run)


def test_tables(erlang, trace):
    program = """erlang*:::ets-entry /copyinstr(arg2) == "orders"/ { @[probename, copyinstr(arg0), copyinstr(arg1)] = count(); }
                 erlang*:::ets-return /copyinstr(arg2) == "orders" && arg3 > 0 && arg3 < 1000000000/ { @[probename, copyinstr(arg0), copyinstr(arg1)] = count(); }
                 erlang*:::ets-return /copyinstr(arg2) == "no_such_table"/ { @[probename, copyinstr(arg0), copyinstr(arg1)] = count(); }"""
    run = trace(program, erlang.node("tables", 20, module="vm"))
    me = re.escape(found(run, r"(<[\d.]+>) stored")[0][1])
    for row in (
        "ets-entry +{} +ets:insert/2 +20",
        "ets-entry +{} +ets:lookup/2 +20",
        "ets-return +{} +ets:insert/2 +20",
        "ets-return +{} +ets:lookup/2 +21",
    ):
        assert found(run, rf" *{row.format(me)}"), (row, run)


def counted(run: harness.Run) -> dict[tuple[str, ...], int]:
    """The rows of an aggregation whose keys, texts without blanks in brackets, stand before the count."""
    rows = [
        (match.groups())
        for line in lines(run)
        if (match := re.fullmatch(r" *(\[.*\]) +(\d+)", line))
    ]
    return {tuple(re.findall(r"\[(.*?)\]", keys)): int(count) for keys, count in rows}


def test_servers(erlang, trace):
    """Who calls, which module answers, and how long: a call that waits behind a slow one is in the queue as long as that one works."""
    program = """erlang*:::gen_server-call-entry, erlang*:::gen_server-cast
                 { @[strjoin("[", strjoin(probename, "]")), strjoin("[", strjoin(copyinstr(arg0), "]")), strjoin("[", strjoin(copyinstr(arg2), "]"))] = count(); }
                 erlang*:::gen_server-handle-entry
                 { @[strjoin("[", strjoin(copyinstr(arg1), "]")), strjoin("[", strjoin(copyinstr(arg2), "]")), strjoin("[", strjoin(copyinstr(arg3), "]"))] = count(); }
                 erlang*:::gen_server-handle-return /copyinstr(arg1) == "handle_call" && copyinstr(arg2) == "served"/ { printf("queue %s %d %d\\n", copyinstr(arg3), arg4, arg5); }
                 erlang*:::gen_server-call-return { printf("call %s %d\\n", copyinstr(arg0), arg3); }"""
    run = trace(program, erlang.node("serves", 20, module="served"), "-x", "strsize=40")
    me, waits = found(run, r"(<[\d.]+>) (<[\d.]+>) served")[0].groups()
    seen = counted(run)
    assert (
        seen["gen_server-call-entry", me, "clerk"] == seen["gen_server-cast", me, "clerk"] == 20
    ), run
    assert (
        seen["handle_call", "served", me]
        == seen["handle_cast", "served", ""]
        == seen["handle_info", "served", ""]
        == 20
    ), run
    handled = [
        (match[1], int(match[2]), int(match[3]))
        for match in found(run, r"queue (<[\d.]+>) (\d+) (\d+)")
    ]
    called = {match[1]: int(match[2]) for match in found(run, r"call (<[\d.]+>) (\d+)")}
    (_, _, slow_took), (last, queued, took) = handled[-2:]
    assert last == waits and slow_took >= 50_000_000 and 0 < queued + took <= called[waits], run
    assert all(queued > 0 and took > 0 for _, queued, took in handled) and len(handled) == 22, run


def test_supervisors_and_loaded_code(erlang, trace):
    run = trace(
        "erlang*:::supervisor-restart { @[copyinstr(arg0), copyinstr(arg1), copyinstr(arg2), copyinstr(arg3)] = count(); }",
        erlang.node("restarts", 20, module="served"),
    )
    supervisor = re.escape(found(run, r"(<[\d.]+>) restarted")[0][1])
    assert found(run, rf" *{supervisor} +\{{local,office\}} +clerk +gen_server:start_link/4 +20"), (
        run
    )
    run = trace(
        'erlang*:::code-load /copyinstr(arg1) == "made"/ { @[arg2] = count(); }',
        erlang.node("loads", 20, module="served"),
    )
    size = found(run, r"loaded (\d+)")[0][1]
    assert found(run, rf" *{size} +20"), run


INET = """erlang*:::inet-return { @[strjoin("[", strjoin(copyinstr(arg1), "]")), strjoin("[", strjoin(copyinstr(arg3), "]")), strjoin("[", strjoin(lltostr(arg4), "]")),
                                    strjoin("[", strjoin(copyinstr(arg6), "]"))] = count(); }
          erlang*:::inet-entry { @begun[copyinstr(arg1)] = count(); }
          erlang*:::inet-return /arg5 <= 0/ { printf("no time: %s\\n", copyinstr(arg1)); }"""


def test_sockets_that_are_ports(erlang, trace):
    """Peers of who connects, of who was accepted, of datagrams; bytes there and back; an error."""
    run = trace(INET, erlang.node("connects", 20, module="served"), "-x", "strsize=64")
    port, mine, udp = (
        f"127.0.0.1:{number}" for number in found(run, r"(\d+) (\d+) (\d+) connected")[0].groups()
    )
    seen = counted(run)
    for peer, sent, received in ((port, "5", "3"), (mine, "3", "5")):
        assert (
            seen["prim_inet:send/3", peer, sent, ""]
            == seen["prim_inet:recv0/3", peer, received, ""]
            == 20
        ), run
    assert (
        seen["prim_inet:sendto/4", udp, "2", ""] == seen["prim_inet:recvfrom0/3", udp, "2", ""] == 1
    ), run
    assert (
        seen["prim_inet:connect/4", port, "0", ""]
        == seen["prim_inet:connect/4", port, "0", "econnrefused"]
        == 1
    ), run
    assert "no time" not in run.stdout and found(run, r" *prim_inet:accept0/3 +1"), run


def test_sockets_of_the_module_socket(erlang, trace):
    run = trace(INET, erlang.node("sockets", 20, module="served"), "-x", "strsize=64")
    port, udp = (
        f"127.0.0.1:{number}" for number in found(run, r"(\d+) (\d+) connected")[0].groups()
    )
    seen = counted(run)
    assert seen["prim_socket:nif_send/4", "", "5", ""] == 20, run
    assert (
        sum(
            count
            for (call, _, received, error), count in seen.items()
            if call == "prim_socket:nif_recv/4" and received == "5"
        )
        == 20
    ), run
    assert (
        seen["prim_socket:nif_sendto/5", udp, "2", ""]
        == seen["prim_socket:nif_recvfrom/4", udp, "2", ""]
        == 1
    ), run
    assert (
        sum(
            count
            for (call, peer, *_), count in seen.items()
            if call == "prim_socket:nif_connect/3" and peer == port
        )
        >= 1
    ), run
    assert "no time" not in run.stdout, run


def test_pauses_and_queues(erlang, trace, monkeypatch):
    monkeypatch.setenv("VM_OPTIONS", "#{long => 1, large => 100000}")
    program = """erlang*:::process-long_gc, erlang*:::process-long_schedule, erlang*:::process-large_heap
                 /arg1 > 0/ { @[probename, copyinstr(arg0)] = count(); }
                 erlang*:::scheduler-queue /arg0 == 1 && arg1 >= 0/ { @q[probename] = count(); }"""
    run = trace(program, erlang.node("pauses", module="vm"))
    pid = re.escape(found(run, r"(<[\d.]+>) paused")[0][1])
    for row in (
        rf"process-long_gc +{pid} +\d+",
        rf"process-long_schedule +{pid} +\d+",
        rf"process-large_heap +{pid} +\d+",
        r"scheduler-queue +\d+",
    ):
        assert found(run, rf" *{row}"), (row, run)


def test_samples(erlang, trace):
    """Of each process by its name, and of the node, which has as many processes as were sampled in a round at least."""
    program = """erlang*:::process-sample /arg2 > 0 && arg4 >= 0/ { @s[copyinstr(arg1)] = max(arg3); }
                 erlang*:::node-sample /arg1 > arg2 && arg2 > 0 && arg3 >= 0 && arg4 > 0 && arg6 > 0 && arg7 >= 0/
                 { @n[copyinstr(arg0)] = max(arg5); }"""
    run = trace(program, erlang.node("queue", module="vm"))
    assert found(run, r" *keeper +500$"), run
    assert found(run, r" *code_server +\d+$") and found(run, r" *vm:keep/0 +0$"), run
    assert int(found(run, r" *'nonode@nohost' +(\d+)$")[0][1]) > 20, run


def test_a_probe_that_no_node_has_is_told(erlang, examples):
    command = " ".join(erlang.node("messages", 1, module="vm"))
    run = harness.run(
        [
            harness.PYDTRACE,
            "-qZ",
            "-x",
            "engine=embedded",
            "-s",
            f"{examples}/messages.d",
            "-c",
            command,
        ],
        timeout=120,
    )
    told = [line for line in run.stderr.splitlines() if line.startswith("dtrace:")]
    assert len(told) == 1 and told[0].startswith(
        "dtrace: no Erlang node has the probe message-receive: a stock emulator"
    ), run


def test_functions_are_places(erlang, trace):
    """A clause names modules and functions, by patterns as well; others are not traced for it."""
    program = """erlang*:vm:entered:local-function-entry,erlang*:vm:in*:function-return,erlang*:erl[a-z]ng:phash2:bif-entry,
                 erlang*:lists:seq:global-function-entry { @[probemod, probefunc, probename, copyinstr(arg1)] = count(); }"""
    run = trace(program, erlang.node("calls", 30, module="vm"))
    rows = [
        line.split()
        for line in run.stdout.splitlines()
        if re.search(r" \d+$", line) and "called" not in line
    ]
    assert sorted(rows) == [
        ["erlang", "phash2", "bif-entry", "erlang:phash2/1", "30"],
        ["vm", "entered", "local-function-entry", "vm:entered/1", "30"],
        ["vm", "inside", "function-return", "vm:inside/1", "30"],
    ], run
    assert "traced by another tool" not in run.stdout + run.stderr, run


def test_names_of_elixir(erlang, trace):
    """Modules and functions as Elixir writes them, in a clause and in what is printed; those of Erlang as Erlang does."""
    program = """erlang*:Shop.Cart:add!:local-function-entry, erlang*:Shop.*:total:function-return, erlang*:erlang:phash2:bif-entry
                 { @[probemod, probefunc, probename, copyinstr(arg1)] = count(); }
                 erlang*:::code-load /copyinstr(arg1) == "Shop.Stock"/ { @["", "", probename, copyinstr(arg1)] = count(); }"""
    run = trace(program, erlang.node("elixir", 20, module="scripted"))
    for row in (
        "Shop.Cart +add! +local-function-entry +Shop.Cart.add!/1 +20",
        "Shop.Cart +total +function-return +Shop.Cart.total/1 +20",
        "erlang +phash2 +bif-entry +erlang:phash2/1 +1",
        "code-load +Shop.Stock +1",
    ):
        assert found(run, rf" *{row}"), (row, run)


def test_no_function_of_no_module(erlang, trace):
    run = trace(
        "erlang*:::local-function-entry { @ = count(); }", erlang.node("calls", 30, module="vm")
    )
    assert (
        "local-function-entry of no module: name one in the clause, or modules in the option functions"
        in run.stdout
    ), run
    assert re.search(r"^ +\d+$", run.stdout, re.MULTILINE) is None, run


def test_code_that_is_loaded_while_it_is_traced(erlang, trace):
    """New code of a traced module, and a module that was not there before."""
    run = trace(
        "erlang*:vm_fresh:version:local-function-entry { @ = count(); }",
        erlang.node("loads", 10, module="vm"),
    )
    assert re.search(r"^ +30$", run.stdout, re.MULTILINE), run


def test_calls_that_never_return(erlang, trace, monkeypatch):
    """A process that exits in a traced call, is killed in one, hibernates; and a node that ends among traced calls, dirty ones, too."""
    monkeypatch.setenv("VM_OPTIONS", "#{rate => infinity}")
    program = """erlang*:vm:nap:local-function-entry,erlang*:vm:nap:function-return,erlang*:vm:stuck:local-function-entry,
                 erlang*:vm:stuck:function-return,erlang*:vm:slept:local-function-entry { @[probefunc, probename] = count(); }
                 erlang*:::process-exit { @[copyinstr(arg1), probename] = count(); } erlang*:::process-hibernate { @["vm", probename] = count(); }
                 erlang*:vm:entered:local-function-entry,erlang*:::efile_drv-return,erlang*:::process-scheduled { @["", "others"] = count(); }"""
    run = trace(program, erlang.node("endings", 20, module="vm"))
    rows = dict(re.findall(r"^ +(\S+ +\S+) +(\d+)$", run.stdout, re.MULTILINE))
    rows = {" ".join(row.split()): int(count) for row, count in rows.items()}
    assert "ended" in run.stdout and run.status == 0, run
    # An exception that ends a process is a return if the emulator traces processes, too.
    assert {row for row in rows if "function-return" in row} <= {
        "nap function-return",
        "stuck function-return",
    }, run
    assert [
        rows[row]
        for row in (
            "nap local-function-entry",
            "stuck local-function-entry",
            "slept local-function-entry",
            "nap_is_over process-exit",
            "killed process-exit",
        )
    ] == [20] * 5, run
    assert rows["vm process-hibernate"] >= 20, (
        run
    )  # and once for each process_info() that a sleeping process has answered


def test_files(erlang, trace, tmp_path, monkeypatch):
    """Each operation once, with OTP's numbers of commands, its paths and numbers, and how it ended."""
    monkeypatch.setenv("VM_FOLDER", str(tmp_path))
    program = """erlang*:::efile_drv-entry { printf("enter %d,%d %d [%s] [%s] %d %d\\n", arg0, arg1, arg3, arg4 ? copyinstr(arg4) : "",
                                                    arg5 ? copyinstr(arg5) : "", arg6, arg7); }
                 erlang*:::efile_drv-return { printf("return %d,%d %d %d %d\\n", arg0, arg1, arg3, arg4, arg5); }"""
    run = trace(program, erlang.node("files", 2, module="vm"))
    entries = {match[1]: match[2] for match in found(run, r"enter (\d+,\d+) (.*)")}
    returns = {match[1]: match[2] for match in found(run, r"return (\d+,\d+) (.*)")}
    seen = [(what, returns[number]) for number, what in entries.items() if ".beam" not in what]
    assert seen[0] == ("12 [old-name] [new-name] 0 0", "12 0 2"), run  # ENOENT
    operations = [
        ("1 [{0}] [] 0 0", "1"),
        ("4 [] [] 5 0", "4"),
        ("25 [] [] 1 3", "25"),
        ("30 [] [] 1 0", "30"),
        ("23 [] [] 0 0", "23"),
        ("11 [{0}] [] 0 0", "11"),
    ]
    expected = [
        (what.format(tmp_path / f"file{i}"), f"{command} 1 0")
        for i in (1, 2)
        for what, command in operations
    ]
    assert [row for row in seen[1:] if row[0].split()[0] not in ("19", "5")] == expected, run


def test_returns_of_files_alone(erlang, trace, tmp_path, monkeypatch):
    """Who wants no entries is told the same of the returns."""
    monkeypatch.setenv("VM_FOLDER", str(tmp_path))
    run = trace(
        "erlang*:::efile_drv-return /arg3 == 30/ { @ = count(); }",
        erlang.node("datasyncs", 5, module="vm"),
    )
    assert re.search(r"^ +5$", run.stdout, re.MULTILINE), run


# What OTP's efile_drv.d reads, of which Debian ships no copy: args[10] as a type that macOS has, and the map of commands.
EFILE = """BEGIN { op[12] = "RENAME"; }
erlang*:::efile_drv-entry /arg3 == 12/ {
    printf("enter tag={%d,%d} %s%s | %s (%d) | args: %s %s , %d %d (port %s)\\n", arg0, arg1, arg2 == NULL ? "" : "user tag ",
           arg2 == NULL ? "" : copyinstr(arg2), op[arg3], arg3, copyinstr(arg4), copyinstr(arg5), arg6, arg7,
           args[10] == NULL ? "?" : copyinstr((user_addr_t) args[10]));
}
erlang*:::efile_drv-return /arg3 == 12 && arg4 == 0/ {
    printf("return tag={%d,%d} %s%s | %s (%d) | errno %d\\n", arg0, arg1, arg2 == NULL ? "" : "user tag ",
           arg2 == NULL ? "" : copyinstr(arg2), op[arg3], arg3, arg5);
}
"""


def test_files_as_the_chapter_of_otp_shows_them(erlang, trace):
    """By the file server, for a process that has a tag; then without a tag, by the process itself."""
    run = trace(EFILE, erlang.node("renames", module="vm"))
    number = r"tag=\{(\d+,\d+)\}"
    entries = found(
        run,
        rf"enter {number} (user tag some-user-tag|) \| RENAME \(12\) \| args: old-name new-name , 0 0 \(port \?\)",
    )
    returns = found(run, rf"return {number} (user tag some-user-tag|) \| RENAME \(12\) \| errno 2")
    assert [match.groups() for match in entries] == [match.groups() for match in returns], run
    assert [match[2] for match in entries] == ["user tag some-user-tag", ""], run


# ---- terms of any size ----


def test_terms_of_any_size(erlang, trace):
    """The emulator's own way to show them took minutes for the first; here the copies of the workload take longest."""
    program = """erlang*:::process-exit { printf("%d %s\\n", strlen(copyinstr(arg1)), copyinstr(arg1)); }
                 erlang*:::message-send { @ = max(arg2); }"""
    run = trace(program, erlang.node("huge", module="vm"), "-x", "strsize=1023", timeout=60)
    shown = {match[2]: int(match[1]) for match in found(run, r"(\d+) (.*)")}
    assert {"'...'", "[a|b]", "[{1.500000e+00,<<98,10>>,'it is',-1,\"text\"}]"} <= set(shown), run
    assert len(shown) >= 8 and 1000 < max(shown.values()) <= 1023, run
    assert int(found(run, r"slowest (\d+) ms")[0][1]) < 20_000, run


def test_the_guide_names_every_probe():
    """Those that a node can offer stand in its tables, those that none can in its list; and nothing else does."""
    guide = pathlib.Path(harness.ROOT, "docs/reference/erlang-vm.md").read_text()
    with open(f"{harness.ROOT}/erlang_nif/c_src/vm_probes.h") as header:
        offered = set(re.findall(r'X\(\w+, "([\w-]+)", "\w+"\)', header.read()))
    rows = [line.split("|")[1] for line in guide.splitlines() if line.startswith("| `")]
    named = {name for row in rows for name in re.findall(r"`([a-z_]+-[\w-]+)`", row)}
    assert named == offered, named ^ offered
    absent = set(
        re.findall(
            r"`([\w-]+)`",
            guide[guide.index("A normal emulator cannot provide these:") :].split("\n\n")[0],
        )
    )
    assert {
        name
        for name in erlang_vm_hints._MISSING
        if not name.startswith(("aio_pool", "efile_drv-int"))
    } == absent


# ---- off ----


def test_nothing_is_traced_while_nobody_traces(erlang):
    run = erlang.evaluate(
        "ok = pyusdt_vm:enable(#{unsafe => true, functions => [lists]}), timer:sleep(600),"
        "Flags = [erlang:trace_info(Who, flags) || Who <- [new | processes()]],"
        'io:format("~p ~p ~p ~p", [lists:usort(Flags), erlang:trace_info({lists, seq, 2}, all), erlang:system_monitor(),'
        " maps:get(armed, pyusdt_vm:info())])",
        "-pa",
        erlang.ebin,
    )
    assert run.stdout == "[{flags,[]}] {all,false} undefined false", run


@pytest.fixture
def waiting(erlang):
    """A node that says twice a second what is traced in it."""
    with harness.running(erlang.node("waits", module="vm")) as node:
        assert node.stdout.readline() == "ready\n"
        yield node


def until(node, condition) -> list[int]:
    """The first of the node's lines that is so."""
    for line in node.stdout:
        if re.fullmatch(r"[\d ]+\n", line) and condition(numbers := list(map(int, line.split()))):
            return numbers
    raise AssertionError("the node has ended")


EVERYTHING = (
    ",".join(
        f"erlang*:::{probes}"
        for probes in (
            "process-*",
            "message-*",
            "gc_*",
            "port-*",
            "*function*",
            "ets-*",
            "inet-*",
            "gen_server-*",
            "supervisor-*",
            "code-*",
            "driver-*",
            "dist-*",
            "efile_drv-*",
            "bif-*",
            "nif-*",
            "scheduler-*",
        )
    )
    + " { @[probename] = count(); }"
)


def test_a_tracer_that_is_killed(waiting):
    """What it wanted, all probes, is switched off by the node itself: how long that took is printed, since a loaded machine is slow."""
    with harness.running(
        [harness.PYDTRACE, "-q", "-x", "engine=embedded", "-n", EVERYTHING, "-p", str(waiting.pid)]
    ) as tracer:
        assert min(until(waiting, lambda numbers: numbers[0] > 0 and numbers[2] > 0)[1:]) > 0
        since = time.monotonic()
        tracer.send_signal(signal.SIGKILL)
        tracer.wait()
        assert until(waiting, lambda numbers: sum(numbers) == 0) == [0, 0, 0, 0, 0]
        print(f"off after {time.monotonic() - since:.2f} s")


def recon() -> tuple[str, str]:
    """The option of erl that finds it: Debian has it in RabbitMQ's plugins."""
    found = glob.glob("/usr/lib/rabbitmq/lib/rabbitmq_server-*/plugins/recon-*/ebin")
    if not found:
        pytest.skip("no recon in rabbitmq-server's plugins")
    return "-pa", found[0]


@pytest.mark.parametrize("tool", ["recon", "dbg"])
def test_two_tracers_and_another_tool(erlang, tool):
    """Each has its own; what one leaves is off when nobody wants it; the other tool's goes on, also when the last of ours was killed."""
    with (
        harness.running(erlang.node("beside", tool, options=recon(), module="vm")) as node,
        contextlib.ExitStack() as tracers,
    ):
        assert node.stdout.readline() == "ready\n"
        command = [harness.PYDTRACE, "-q", "-x", "engine=embedded", "-p", str(node.pid), "-n"]
        spawns = tracers.enter_context(
            harness.running([*command, "erlang*:::process-scheduled { @[probename] = count(); }"])
        )
        messages = tracers.enter_context(
            harness.running([*command, "erlang*:::message-send { @[probename] = count(); }"])
        )
        _, flags, seen = until(node, lambda numbers: numbers[0] == 2 and numbers[2] > 0)
        assert flags > 0
        messages.send_signal(signal.SIGINT)
        assert re.search(r"message-send +\d+", messages.stdout.read())
        _, flags, seen = until(node, lambda numbers: numbers[0] == 1 and numbers[2] > seen + 2)
        assert flags > 0
        spawns.send_signal(signal.SIGKILL)
        assert until(node, lambda numbers: numbers[0] == 0 and numbers[1] == 0)
        assert until(node, lambda numbers: numbers[2] > seen + 2)


def test_the_controlling_process_is_never_traced(erlang, trace):
    program = (
        "erlang*:::process-scheduled, erlang*:::message-queued { @[copyinstr(arg0)] = count(); }"
    )
    run = trace(program, erlang.node("controller", module="vm"), timeout=60)
    controller, *rows = run.stdout.split("\n", 1)[0].split() + re.findall(
        r"(<[\d.]+>) +\d+", run.stdout
    )
    assert controller.startswith("<") and rows and controller not in rows, run


@pytest.mark.parametrize("n", [200, pytest.param(10_000, marks=pytest.mark.long)])
def test_on_and_off_under_load(erlang, trace, n):
    """Where flags are taken away while others are in dirty NIFs, an emulator before 25.3 crashes; ours removes itself."""
    run = trace(TOGGLED, erlang.node("toggles", n, module="vm"), timeout=3600)
    assert found(run, rf"toggled {n}, 0 left") and found(run, r" *process-spawn +\d+"), run


# ---- limits ----


def test_too_many_events(erlang, trace, monkeypatch):
    """All of it is switched off; the node says so, and the tracer counts a loss."""
    monkeypatch.setenv("VM_OPTIONS", "#{rate => 1000}")
    run = trace(
        "erlang*:::process-spawn { @[copyinstr(arg1)] = count(); }",
        erlang.node("tsunami", 5000, module="vm"),
        timeout=60,
    )
    assert re.search(
        r"switched off: 100 events in \d+ us on one scheduler are more than the option rate allows",
        run.stdout,
    ), run
    assert int(re.search(r"vm:nap/0 +(\d+)", run.stdout)[1]) < 5000 and "drop" in run.stderr, run


def test_too_many_events_for_who_only_counts(erlang, trace, monkeypatch):
    """A count that is too small is told, too; so is every other probe that goes off with it."""
    monkeypatch.setenv("VM_OPTIONS", "#{rate => 1000}")
    run = trace(
        "erlang*:::process-spawn { @ = count(); } erlang*:vm:number:local-function-entry { @calls = count(); }",
        erlang.node("tsunami", 5000, module="vm"),
        timeout=60,
    )
    dropped = harness.count_drops(run.stderr)
    assert int(re.search(r"^ +(\d+)$", run.stdout, re.MULTILINE)[1]) < 5000 and dropped >= 2, run


def test_many_events_but_slowly(erlang, trace, monkeypatch):
    """The first ones were taken for a burst once: the emulator's time is negative."""
    monkeypatch.setenv("VM_OPTIONS", "#{rate => 1000}")
    run = trace(
        "erlang*:::process-spawn { @[copyinstr(arg1)] = count(); }",
        erlang.node("drizzle", 250, module="vm"),
        timeout=60,
    )
    assert "#{armed => true,refused => none}" in run.stdout and re.search(
        r"vm:nap/0 +250$", run.stdout, re.MULTILINE
    ), run
    assert "drop" not in run.stderr, run


def test_it_has_gone_on_too_long(erlang, trace, monkeypatch):
    monkeypatch.setenv("VM_OPTIONS", "#{time => 100}")
    run = trace(
        "erlang*:::process-spawn { @ = count(); }", erlang.node("refused", module="vm"), timeout=60
    )
    assert "switched off: it has gone on for 100 ms, which the option time allows." in run.stdout, (
        run
    )


@pytest.mark.parametrize("tool", ["recon", "dbg"])
def test_another_tool_clears_everything(erlang, trace, tool):
    run = trace(
        "erlang*:::process-spawn { @ = count(); }",
        erlang.node("cleared", tool, options=recon(), module="vm"),
        timeout=60,
    )
    assert '"switched off: another tool has cleared what was traced. ' in run.stdout, run


def test_what_another_tool_traces_is_left_to_it(erlang, trace):
    """Its process and its function; before OTP 27 there is one tracer for each, and what was skipped is said."""
    run = trace(
        "erlang*:::process-scheduled,erlang*:::local-function-entry { @ = count(); }",
        erlang.node("shared", module="vm"),
        timeout=60,
    )
    assert "others are theirs: true" in run.stdout, run
    assert "1 processes are traced by another tool, and left to it" in run.stdout, run
    assert "1 functions are traced by another tool, or are not there, and left out" in run.stdout, (
        run
    )


def test_before_25_3_only_what_is_safe(erlang):
    """The emulator of Debian 12 is older; on a newer one there is nothing to refuse."""
    run = erlang.evaluate(
        "ok = pyusdt_vm:enable(), #{given := Given, messages := Said} = pyusdt_vm:info(),"
        'io:format("~n~p ~p ~p ~p~n", [hd(string:lexemes(erlang:system_info(version), ".")),'
        " lists:member('process-spawn', Given), lists:member('local-function-entry', Given), Said])",
        "-pa",
        erlang.ebin,
    )
    major, spawn, function, said = re.search(
        r'^"(\d+)" (true|false) (true|false) (\[.*?\])$', run.stdout, re.MULTILINE | re.DOTALL
    ).groups()
    assert function == "true", run
    assert (spawn == "false") == ("older than OTP 25.3" in said), run
    assert spawn == "true" or int(major) <= 13, run


def test_options_that_can_not_be(erlang):
    run = erlang.evaluate(
        'io:format("~0p", [[pyusdt_vm:enable(Options) || Options <- [#{rate => 0}, #{modules => [lists]}, [], #{functions => lists}]]])',
        "-pa",
        erlang.ebin,
    )
    assert (
        run.stdout
        == "[{error,{badarg,[rate]}},{error,{badarg,[modules]}},{error,{badarg,[]}},{error,{badarg,[functions]}}]"
    ), run


# ---- servers of Elixir and RabbitMQ ----

SERVERS = """erlang*:::gen_server-call-entry, erlang*:::gen_server-cast { @[probename, copyinstr(arg1), copyinstr(arg2)] = count(); }
             erlang*:::gen_server-call-return /arg3 > 0/ { @[probename, copyinstr(arg1), copyinstr(arg2)] = count(); }
             erlang*:::gen_server-handle-entry { @[probename, copyinstr(arg1), copyinstr(arg2)] = count(); }
             erlang*:::gen_server-handle-entry /arg4 > 0/ { @waited[copyinstr(arg2)] = count(); }"""


def servers_of(run) -> set[tuple[str, ...]]:
    return {tuple(line.split()) for line in lines(run) if line.startswith(" ")}


def test_elixirs_servers(erlang, trace):
    if harness.tools("elixir"):
        pytest.skip("no elixir")
    program = f"{harness.ROOT}/tests/erlang/programs/genservers.exs"
    run = trace(SERVERS, ["elixir", "-pa", erlang.ebin, program], timeout=120)
    clerk, count, rooms = (f"'Elixir.Shop.{name}'" for name in ("Clerk", "Count", "Rooms"))
    call, back = "gen_server-call-entry", "gen_server-call-return"
    assert {
        *((probe, "GenServer.call/3", name, "20") for probe in (call, back) for name in (clerk, count, rooms)),
        ("gen_server-cast", "GenServer.cast/2", clerk, "20"),
        ("gen_server-handle-entry", "handle_call", "Shop.Clerk", "20"),
        ("gen_server-handle-entry", "handle_cast", "Shop.Clerk", "20"),
        ("gen_server-handle-entry", "handle_call", "Agent.Server", "20"),
        ("Shop.Clerk", "20"), ("Agent.Server", "20"), ("DynamicSupervisor", "20"),
    } <= servers_of(run), run  # fmt: skip


def test_servers_of_rabbitmq_and_state_machines(erlang, trace):
    found = glob.glob("/usr/lib/rabbitmq/lib/*/plugins/rabbit_common-*/ebin")
    if not found:
        pytest.skip("no rabbitmq-server, whose gen_server2 this is")
    run = trace(SERVERS, erlang.node("serves", 20, options=("-pa", found[0]), module="served2"))
    servers = servers_of(run)
    assert {
        ("gen_server-call-entry", "gen_server2:call/2", "store", "20"),
        ("gen_server-call-return", "gen_server2:call/2", "store", "20"),
        ("gen_server-cast", "gen_server2:cast/2", "store", "20"),
        ("gen_server-call-entry", "gen_statem:call/3", "door", "20"),
        ("gen_server-call-return", "gen_statem:call/3", "door", "20"),
        ("gen_server-cast", "gen_statem:cast/2", "door", "20"),
        ("gen_server-handle-entry", "handle_call", "served2", "40"),
        ("gen_server-handle-entry", "handle_cast", "served2", "20"),
        ("gen_server-handle-entry", "handle_info", "served2", "20"),
        ("served2", "40"),
    } <= servers, servers
    assert sum(row[1] == "gen_statem:call/3" for row in servers) == 4, servers
