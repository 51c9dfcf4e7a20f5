"""`procname(pid)`: one process is one key, by whatever a probe's argument calls it."""

from __future__ import annotations

import re

MESSAGES = """erlang$target:::message-send /copyinstr(arg1) == "shop" || substr(copyinstr(arg1), 0, 1) == "<"/
{ @[procname(copyinstr(arg0)), procname(copyinstr(arg1))] = count(); }"""


def rows(run) -> dict[tuple[str, str], int]:
    found = re.findall(r"^  (\S.*?) {2,}(\S.*?) {2,}(\d+)$", run.stdout, re.MULTILINE)
    return {(sender, receiver): int(n) for sender, receiver, n in found}


def test_one_process_is_one_key(erlang, trace):
    """Workers without a name are called by their function and their supervisor; a name that comes later replaces that; pids and
    registered names of one server are one key."""
    found = rows(trace(MESSAGES, erlang.node("run", 3, module="named")))
    assert found["named:init/1 (shop_sup)", "shop"] > 3, found
    assert found["late", "shop"] > 3, found
    assert not any("<" in sender for sender, _ in found), found


def test_names_are_fired_once_and_end(erlang, trace):
    program = """erlang$target:::process-name { @n[copyinstr(arg0), copyinstr(arg1)] = count(); @all = count(); }"""
    run = trace(program, erlang.node("run", 3, module="named"))
    found = rows(run)
    assert set(found.values()) == {1}, run
    names = [name for _, name in found]
    assert names.count("named:init/1 (shop_sup)") == 3 and names.count("shop") == 1, run
    (late,) = [pid for pid, name in found if name == "late"]
    assert (late, "erlang:apply/2") in found, run
    (ended,) = [pid for pid, name in found if name == "timer:sleep/1"]
    assert re.search(rf"^  {ended} +1$", run.stdout, re.MULTILINE), run


def test_each_tracer_gets_the_names(erlang, trace):
    """A clause of a node's pid, and all nodes' if the script names none."""
    program = (
        'erlang*:::process-scheduled { @[procname("shop"), procname(copyinstr(arg0))] = count(); }'
    )
    found = rows(trace(program, erlang.node("run", 3, module="named")))
    assert found["shop", "shop"] > 3, found
