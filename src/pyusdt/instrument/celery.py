"""Celery: task, by the signals that a worker sends before and after each task.

Probes: task:::start and task:::done.

- The arguments are the text that the sender has put into its message (argsrepr, kwargsrepr): no
  repr() runs here.
"""

from __future__ import annotations

from functools import partial
from time import perf_counter_ns
from typing import Any

from . import request_spans
from .core import call_to_undo, suppress_errors
from .probes import provider_probes
from .request_spans import done_probe, span_probe

_start, _done = provider_probes("task")
# When each traced task of this process began, and its spans, by its id.
_running: dict[str, tuple[int, request_spans.RequestSpans | None]] = {}


def _format_arguments(request: Any) -> str:
    """ "(1, 'a') {'n': 2}": as the sender has written them, "" without."""
    texts = (
        getattr(request, name, None) for name in ("argsrepr", "kwargsrepr")
    )  # a task that is called in place has none
    return " ".join(text for text in texts if isinstance(text, str))


@suppress_errors
def _note_start(task_id: str = "", task: Any = None, **_more: Any) -> None:
    if _start or _done or span_probe or done_probe:
        _start(task.name, task_id, _format_arguments(task.request))
        spans = request_spans.begin_request("task") if request_spans.is_traced() else None
        _running[task_id] = perf_counter_ns(), spans


@suppress_errors
def _note_done(task_id: str = "", task: Any = None, state: Any = "", **_more: Any) -> None:
    if (running := _running.pop(task_id, None)) is not None:
        began, spans = running
        _done(task.name, str(state or ""), perf_counter_ns() - began, task_id)
        if spans is not None:
            spans.done(task.name, state or "")


def install_tasks(signals: Any) -> None:
    for signal, note in ((signals.task_prerun, _note_start), (signals.task_postrun, _note_done)):
        signal.connect(note, weak=False)
        call_to_undo(partial(signal.disconnect, note))
