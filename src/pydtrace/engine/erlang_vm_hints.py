"""Hints for probes of the Erlang emulator that a node does not have (docs/reference/erlang-vm.md).

The names are those of OTP's erlang_dtrace.d; erlang_nif/c_src/vm_probes.h has those that a node can
offer.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_PROVIDER = "erlang"
_QUEUE = "a stock emulator tells nobody when a process takes a message from its queue; message-queued tells when it comes there"
_COPY = "a stock emulator tells nobody when it copies terms"
_DRIVER = "a stock emulator tells nobody when it calls this function of a driver"
_DRIVER_WORK = "a stock emulator tells that a driver works, and not for what"
_VECTORS = "the driver of OTP's distribution takes vectors; dist-outputv tells what goes out"
_POOL = "since OTP 21 no pool of threads does the input and output of files"

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
    "trace": "it is what OTP's own tracer module fires, which pyusdt does not use",
    "trace_seq": "it is what OTP's own tracer module fires, which pyusdt does not use",
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
            "a node offers the emulator's own probes after pyusdt_vm:enable(), on OTP before 25.3 all of them only after "
            "pyusdt_vm:enable(#{unsafe => true}), where it offers some already after pyusdt_vm:disable(): docs/reference/erlang-vm.md"
        )
    return None
