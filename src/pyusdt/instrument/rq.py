"""RQ: task:::start and task:::done in the process that does the job, around Job.perform(), since its
callbacks belong to each job.

- The arguments are the job's description, by default the text of the call that its sender has put
  into the queue.
"""

from __future__ import annotations

from time import perf_counter_ns
from typing import Any

from . import request_spans
from .core import suppress_errors, wrap_method
from .probes import provider_probes
from .request_spans import done_probe, span_probe
from .wrap_calls import wrap_call

_start, _done = provider_probes("task")


class _Job:
    """One job that is traced, until it is done."""

    __slots__ = ("began", "id", "name", "spans")

    def __init__(self, job: Any) -> None:
        self.name, self.id = str(job.func_name), str(job.id)
        _start(self.name, self.id, job.description if isinstance(job.description, str) else "")
        self.spans = request_spans.begin_request("task") if request_spans.is_traced() else None
        self.began = perf_counter_ns()

    @suppress_errors
    def done(self, _result: Any, error: BaseException | None = None) -> None:
        state = "SUCCESS" if error is None else "FAILURE"
        _done(self.name, state, perf_counter_ns() - self.began, self.id)
        if self.spans is not None:
            self.spans.done(self.name, state)


@suppress_errors
def _begin_job(job: Any) -> _Job | None:
    return _Job(job) if _start or _done or span_probe or done_probe else None


def install_jobs(job: Any) -> None:
    wrap_method(job.Job, "perform", wrap_call(_begin_job))
