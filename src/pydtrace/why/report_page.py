"""A report as a page for a ticket: title, facts of the run, and for each route its cause, a table, and the time lines of the slowest
requests with an axis of time.  It is one file without a script, for screens of any width, light, dark and print.
"""

from __future__ import annotations

import time
from html import escape

from pydtrace.untrusted.terminal_escape import escape_for_terminal

from .report import (
    TIMELINES,
    describe_queues,
    describe_route,
    format_time,
    list_activities,
    list_rows,
    longest_spans,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from .causes import Comparison
    from .evidence import Evidence
    from .report import Wording
    from .request_log import Request

_STEPS = (1, 2, 5)  # times a power of ten: ticks of an axis
_TICKS = 6  # at most
_COLOURS = {
    "sql": "#3b76d6",
    "call": "#c2571a",
    "cache": "#2f8f57",
    "pool": "#8a4fbf",
    "queue": "#8a4fbf",
    "loop": "#c03a4b",
    "gc": "#a07a00",
}
_STYLE = """
:root { color-scheme: light dark; --dim: #5f6368; --line: #8886; font: 15px/1.45 system-ui, sans-serif; }
@media (prefers-color-scheme: dark) { :root { --dim: #a8abaf; } }
body { margin: 0 auto; max-width: 75rem; padding: .6rem .8rem 3rem; }
h1 { font-size: 1.3rem; margin: .4rem 0; } h2 { font-size: 1.1rem; margin: 1.6rem 0 .2rem; }
h1, h2, h3, p, td, dd { overflow-wrap: anywhere; } h3 { font-size: .95rem; margin: 1.1rem 0 .2rem; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 0 .8rem; margin: .3rem 0; }
dt, .dim, th, .axis { color: var(--dim); } dd { margin: 0; }
.cause { font-weight: 600; } .scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; } th { font-weight: 400; text-align: right; }
td, th { padding: .15rem .5rem; border-bottom: 1px solid var(--line); vertical-align: top; }
td { text-align: right; white-space: nowrap; } td:last-child, th:last-child { text-align: left; white-space: normal; }
.row { display: grid; grid-template-columns: 45% 1fr; gap: .6rem; align-items: center; margin: 1px 0; }
.track { position: relative; height: 1.1em; background: #8882; }
.bar { position: absolute; top: 0; bottom: 0; min-width: 2px; }
.axis { position: relative; height: 1.3em; font-size: .8rem; }
.axis span { position: absolute; border-left: 1px solid var(--line); padding-left: 2px; white-space: nowrap; }
.name { font-size: .88rem; overflow-wrap: anywhere; }
@media (max-width: 600px) { .row { grid-template-columns: 1fr; gap: 0; margin: .4rem 0; } dl { grid-template-columns: 1fr; } }
@media print { body { max-width: none; } .bar, .track { print-color-adjust: exact; -webkit-print-color-adjust: exact; } }
"""


def render_page(
    evidence: Evidence, found: Sequence[Comparison], quiet: str, wording: Wording
) -> str:
    """quiet: what is said if no route had slow requests."""
    facts = evidence.facts
    began = time.strftime("%Y-%m-%d %H:%M:%S %z", time.localtime(facts.began))
    rows = [
        ("host", facts.host),
        ("command", facts.command),
        ("watched", f"{began}, for {facts.duration:.1f} s"),
        ("requests", f"{evidence.log.requests} of {len(evidence.log.routes)} routes"),
        ("not kept", f"{facts.lost} events, spans or requests"),
        *([("queue", queues.strip())] if (queues := describe_queues(facts.queues)) else []),
    ]
    body = "".join(_render_route(each, evidence, wording) for each in found)
    title = f"Why requests were slow on {facts.host}"
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{_text(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        f"<h1>{_text(title)}</h1>\n<dl>"
        + "".join(f"<dt>{_text(name)}</dt><dd>{_text(value)}</dd>" for name, value in rows)
        + f"</dl>\n{body or f'<p>{_text(quiet)}</p>'}\n</body>\n</html>\n"
    )


def _text(text: str) -> str:
    return escape(escape_for_terminal(text))


def _render_route(found: Comparison, evidence: Evidence, wording: Wording) -> str:
    total = evidence.log.routes[found.route].count
    head, cause, *more = describe_route(found, total, wording, evidence.samples).splitlines()
    header, *rows = list_rows(found, wording)
    cells = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows
    )
    lines = "".join(
        _render_timeline(request, evidence, wording) for request in found.slow[:TIMELINES]
    )
    return (
        f"<section><h2>{escape(found_route(found))}</h2>\n<p>{escape(head)}</p>\n"
        f'<p class="cause">{escape(cause.strip())}</p>\n<p>{escape(" ".join(more).strip())}</p>\n'
        f'<div class="scroll"><table><tr>{"".join(f"<th>{escape(cell)}</th>" for cell in header)}</tr>'
        f"{cells}</table></div>\n{lines}</section>\n"
    )


def found_route(found: Comparison) -> str:
    return escape_for_terminal(found.route)


def _render_timeline(request: Request, evidence: Evidence, wording: Wording) -> str:
    title = (
        f"{format_time(request.duration)}, status {request.status or '-'}, process {request.pid},"
        f" {request.id}"
    )
    rows = [
        _render_row(
            f"{format_time(span.duration)} {wording.name_cause((span.kind, ' '.join(span.name.split()), span.line))}",
            span.began,
            span.duration,
            request.duration,
            span.kind,
        )
        for span in longest_spans(request)
    ]
    sampled = [
        f"{format_time(duration)} {wording.name_cause(activity)}"
        for activity, duration in list_activities(request, evidence.samples)
    ]
    rest = (
        f'<p class="dim">sampled, of the rest: {escape("; ".join(sampled))}</p>' if sampled else ""
    )
    return f"<h3>{_text(title)}</h3>\n{_render_axis(request.duration)}{''.join(rows)}{rest}\n"


def _render_row(name: str, began: int, duration: int, whole: int, kind: str) -> str:
    left = min(100.0, max(0.0, 100 * began / max(1, whole)))
    width = min(100 - left, 100 * duration / max(1, whole))
    colour = _COLOURS.get(kind, "#777")
    return (
        f'<div class="row"><div class="name">{escape(name)}</div><div class="track">'
        f'<div class="bar" style="left:{left:.2f}%;width:{width:.2f}%;background:{colour}"></div></div></div>\n'
    )


def _render_axis(whole: int) -> str:
    step = next(
        factor * 10**power
        for power in range(3, 20)
        for factor in _STEPS
        if whole <= _TICKS * factor * 10**power
    )
    ticks = "".join(
        f'<span style="left:{100 * at / max(1, whole):.2f}%">{escape(format_time(at) if at else "0")}</span>'
        for at in range(0, whole, step)
        if at <= 0.93 * whole
    )
    return f'<div class="row"><div class="name dim">time since the request began</div><div class="axis">{ticks}</div></div>\n'
