"""What tracers print of Erlang programs."""

from __future__ import annotations

import re

from tests.support import harness


def lines(run: harness.Run) -> list[str]:
    assert "never armed" not in run.stdout + run.stderr, run
    return run.stdout.splitlines()


def found(run: harness.Run, pattern: str) -> list[re.Match]:
    return [match for line in lines(run) if (match := re.fullmatch(pattern, line))]


EVENTS = (
    "telemetry*:::event { @[copyinstr(arg0)] = count(); } "
    'telemetry*:::event /copyinstr(arg0) == "shop.order.placed"/ { @i[term(arg2, "item")] = count(); @s = sum(strtoll(term(arg1, "price"))); @k[term(arg2, "token")] = count(); }'
)


def rows(run: harness.Run) -> list[str]:
    """Of the aggregations, with one space between the columns."""
    assert run.stderr == "" and "trouble []" in run.stdout, run
    return sorted(
        " ".join(line.split()) for line in run.stdout.splitlines() if line.startswith(" ")
    )
