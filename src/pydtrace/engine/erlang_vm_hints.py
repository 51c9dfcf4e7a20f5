"""Hints for probes of the Erlang emulator that a node does not have (docs/reference/erlang-vm.md).

The names are those of OTP's erlang_dtrace.d; erlang_nif/c_src/vm_probes.h has those that a node can
offer.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_PROVIDER = "erlang"
_QUEUE = "a stock emulator does not report when a process takes a message from its queue; message-queued fires when it arrives there"
_COPY = "a stock emulator does not report copies of terms"
_DRIVER = "a stock emulator does not report calls of this driver function"
_DRIVER_WORK = "a stock emulator reports that a driver works, but not what for"
_VECTORS = "the driver of OTP's distribution sends vectors: use dist-outputv"
_POOL = "since OTP 21 there is no thread pool for file input and output"

_MISSING = {
    "message-receive": _QUEUE,
    "copy-struct": _COPY,
    "copy-object": _COPY,
    **dict.fromkeys(
        ["driver-event", "driver-process_exit", "driver-stop_select", "driver-flush"], _DRIVER
    ),
    **dict.fromkeys(
        ["driver-ready_input", "driver-ready_output", "driver-timeout", "driver-ready_async"],
        _DRIVER_WORK,
    ),
    "dist-output": _VECTORS,
    "efile_drv-int_entry": _POOL,
    "efile_drv-int_return": _POOL,
    "aio_pool-add": _POOL,
    "aio_pool-get": _POOL,
    "trace": "only OTP's own tracer module fires it, which pyusdt does not use",
    "trace_seq": "only OTP's own tracer module fires it, which pyusdt does not use",
}
_OFFERED = (
    "process-",
    "message-",
    "gc_",
    "port-",
    "driver-",
    "dist-",
    "efile_drv-",
    "local-function",
    "global-function",
    "function-return",
    "bif-",
    "nif-",
    "ets-",
    "scheduler-",
    "inet-",
    "gen_server-",
    "supervisor-",
    "code-",
)


def explain_missing(desc: Any) -> str | None:
    """Why no node has this probe."""
    if desc.provider.rstrip("0123456789*") != _PROVIDER or desc.name not in _MISSING:
        return None
    return f"no Erlang node has the probe {desc.name}: {_MISSING[desc.name]}"


def explain_not_offered(desc: Any) -> str | None:
    """The same, or how a node comes to offer a probe that it can have."""
    if hint := explain_missing(desc):
        return hint
    if desc.provider.rstrip("0123456789*") == _PROVIDER and desc.name.startswith(_OFFERED):
        return (
            "`pyusdt attach PID` brings the probes into an Erlang node; those of processes, messages and ports need OTP 25.3"
            " or --enable '#{unsafe => true}' (in the node: pyusdt_vm:enable(); `pyusdt help erlang-vm`)"
        )
    return None
