"""The C preprocessor of -C: the system's cpp(1), run as dtrace runs it.

cpp reads /dev/stdin, so its markers tell the script from the files that it includes. Its
messages go to this process's standard error.
"""

from __future__ import annotations

import contextlib
import os
import platform
import select
import shutil
import signal

from pydtrace import debug_log
from pydtrace.dlang.compile_errors import PreprocessError
from pydtrace.dlang.compiler_limits import TEXT_BYTES_MAX

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ...options import Options

_DEFINES = ("-D__linux", "-D__unix", "-D__SVR4", "-D__SUNW_D=1", "-U__GNUC__", "-D__SUNW_D_64")
_VERSION = "-D__SUNW_D_VERSION=0x02000000"
_STDC = {"a": "-std=c99", "c": "-std=c99", "t": "-std=c99", "s": "-traditional-cpp"}


_TIMEOUT_S = 20  # s
_MEMORY_MAX = 1 << 30  # bytes of address space


def run_preprocessor(text: bytes, options: Options) -> bytes:
    """The preprocessed text of a script."""
    program = options.get("cpppath", "cpp")
    words = [*_DEFINES, f"-D__{platform.system()}", *options.get("cppargs", ()), _VERSION]
    words.append(_STDC[options.get("stdc") or "a"])
    debug_log.log("preprocessor: %s %s", program, " ".join(words))
    try:
        status, out = _run_command([program, *words, "/dev/stdin"], strip_interpreter_line(text))
    except FileNotFoundError:
        raise PreprocessError("Preprocessor not found") from None
    except OSError:
        raise PreprocessError("Failed to exec preprocessor") from None
    if len(out) > TEXT_BYTES_MAX:
        raise PreprocessError(
            f"Preprocessor made more than {TEXT_BYTES_MAX} bytes of it, which is all that a program may have"
        )
    if status is None:
        raise PreprocessError(f"Preprocessor did not end within {_TIMEOUT_S} s")
    if status:
        raise PreprocessError("Preprocessor failed to process input program")
    return out


def _run_command(command: list[str], text: bytes) -> tuple[int | None, bytes]:
    """(status, what it printed), as far as that is wanted: it is ended when that is more than a program may have, or, with the status None, when
    it takes too long."""
    import tempfile
    import time
    from subprocess import PIPE, Popen

    end, out = time.monotonic() + _TIMEOUT_S, bytearray()
    with tempfile.TemporaryFile() as file:
        file.write(text)
        file.seek(0)
        with Popen(
            _limit_command(command), stdin=file, stdout=PIPE, start_new_session=True
        ) as process:
            assert process.stdout
            try:
                poller = select.poll()
                poller.register(process.stdout, select.POLLIN)
                while len(out) <= TEXT_BYTES_MAX and poller.poll(
                    max(0.0, end - time.monotonic()) * 1000
                ):
                    data = os.read(process.stdout.fileno(), 1 << 16)
                    if not data:
                        return process.wait(), bytes(out)
                    out += data
                return None, bytes(out)
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)  # cpp has started cc1


def _limit_command(command: list[str]) -> list[str]:
    """The command with limits that it and all that it starts have from the beginning: what macros become may take all memory before
    anything is printed.  Lower limits of the user stay.  Raises FileNotFoundError, PermissionError."""
    found = shutil.which(command[0])
    if not found:
        raise (
            PermissionError(command[0])
            if os.path.exists(command[0])
            else FileNotFoundError(command[0])
        )
    limits = f'ulimit -v {_MEMORY_MAX >> 10} 2>/dev/null; ulimit -t {_TIMEOUT_S} 2>/dev/null; exec "$0" "$@"'
    return ["/bin/sh", "-c", limits, found, *command[1:]]


def strip_interpreter_line(text: bytes) -> bytes:
    """The text without a first line that begins with #!, on which cpp would choke; its line end stays."""
    if not text.startswith(b"#!"):
        return text
    end = text.find(b"\n")
    return b"" if end < 0 else text[end:]
