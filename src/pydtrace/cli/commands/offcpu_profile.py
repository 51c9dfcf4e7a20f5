"""`pyusdt profile --off-cpu`: how long, and where, the threads of a Python program do not run, in
microseconds.

- The kernel engine sees each time that a thread leaves a processor and comes back.
- Where that engine cannot be used, NoStacks gives the reason and what to do.
"""

from __future__ import annotations

import sys
import time

from pydtrace.cli.pydtrace.signals import InterruptHandler, make_waiting_command
from pydtrace.dlang.compile import Compiler, default_macros
from pydtrace.driver.driver import Driver
from pydtrace.engine import EngineError, Targets
from pydtrace.engine.kernel.kernel_structs import KernelBtf
from pydtrace.options import Options
from pydtrace.process.identity import is_alive
from pydtrace.profile.sample_order import SampleOrder
from pydtrace.profile.stack_profile import Profile
from pydtrace.remote_python.remote_python import ProcessNotFound, StackReadError
from pydtrace.sinks.offcpu_sink import UNITS_PER_SECOND, OffCpuSink, make_script
from pydtrace.untrusted.watchdog import watchdog

from .stack_options import needs_threads, separated_labels

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from typing import Any

_POLL = 0.05
_WALL_HINT = "--wall shows by samples where threads wait, and needs no root"


def profile_off_cpu(options: Namespace) -> Profile:
    """Raises NoStacks; OSError where the command can not be started."""
    if options.pid is not None and not is_alive(options.pid):
        raise ProcessNotFound.for_pid(options.pid)
    command = make_waiting_command(options.command)
    targets = Targets((), command, only=True) if command else Targets((options.pid,), only=True)
    settings = Options()
    settings.set("engine", "kernel")
    driver = Driver(settings, targets)
    try:
        _open_driver(
            driver, _compile_script(settings, command.pid if command else options.pid, options)
        )
        return _trace_waits(driver, options)
    except EngineError as error:
        raise StackReadError(str(error)) from None
    finally:
        driver.close()


def _open_driver(driver: Driver, program: Any) -> None:
    try:
        driver.open(program)
    except EngineError as error:
        raise StackReadError(f"--off-cpu: {error}; {_WALL_HINT}") from None


def _compile_script(settings: Options, target: int, options: Namespace) -> Any:
    compiler = Compiler(settings, default_macros(target), kernel=KernelBtf())
    compiler.compile_text(make_script(options.frames, options.subprocesses), None)
    return compiler.generate_program()


def _trace_waits(driver: Driver, options: Namespace) -> Profile:
    profile = Profile(UNITS_PER_SECOND, "waits", is_exact=True, separated=separated_labels(options))
    profile.folds_libraries = options.mine
    if options.speedscope:
        profile.order = SampleOrder()
    waits = OffCpuSink(profile, options.lines, needs_threads(options))
    with InterruptHandler(driver):
        driver.begin(waits)
        began = time.monotonic_ns()
        if options.pid is not None:
            with watchdog(
                f"pyusdt: process {options.pid} does not let its memory be read: gave up"
            ):
                waits.add_waiting_threads(options.pid, began)

        def between() -> None:
            waits.last_time = time.monotonic_ns()
            if options.duration and waits.last_time - began >= options.duration * 1_000_000_000:
                driver.stopping = True

        driver.run(_POLL, between)
    waits.end_intervals()
    profile.seconds = (waits.last_time - began) / 1e9
    for text in dict.fromkeys(waits.notices):
        sys.stderr.write(f"pyusdt: {text}\n")
    return profile
