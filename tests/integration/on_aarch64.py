"""What test_attach_aarch64.py runs in an emulated machine: on_aarch64.py ROUNDS LOAD…; prints a line for each step."""

from __future__ import annotations

import os
import subprocess
import sys
import traceback
from collections.abc import Callable

from tests.support import attach_load, attach_stress

SIGNALS = "/checkout/counted_signals.so"
COUNTS = "python$target::work:function-entry { @[probefunc] = count(); } tick-2s { exit(0); }"
UPROBE = "pid$target:libc.so.6:malloc:entry { @[probefunc] = count(); } tick-2s { exit(0); }"


def pyusdt(*arguments: str) -> str:
    return run("pydtrace.cli.commands.main", *arguments)


def pydtrace(*arguments: str) -> str:
    return run("pydtrace.cli.pydtrace.main", *arguments)


def run(module: str, *arguments: str) -> str:
    code = f"from {module} import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done
    return done.stdout


def check_dump(load: attach_load.Load) -> None:
    assert "work (" in pyusdt("dump", str(load.pid))


def check_attach(load: attach_load.Load) -> None:
    pyusdt("attach", str(load.pid))
    assert "pyusdt.vm" in load.ask()["modules"]


def check_trace(load: attach_load.Load) -> None:
    assert "work" in pydtrace("-q", "-n", COUNTS, "-p", str(load.pid))


def check_detach(load: attach_load.Load) -> None:
    pyusdt("detach", str(load.pid))
    assert load.ask()["modules"] == []


def check_attach_and_trace(load: attach_load.Load) -> None:
    assert "work" in pydtrace("--attach", "-q", "-n", COUNTS, "-p", str(load.pid))
    assert load.ask()["modules"] == []


def check_kernel(load: attach_load.Load) -> None:
    shown = pydtrace("-q", "-x", "engine=kernel", "-n", UPROBE, "-p", str(load.pid))
    assert shown.split()[:1] == ["malloc"], shown


def check_lock_wait(_load: attach_load.Load) -> None:
    """Only the main thread of CPython 3.11 makes pending calls, and it waits for another thread."""
    with attach_load.loaded(sys.executable, "j") as load:
        pyusdt("attach", str(load.pid))
        pyusdt("detach", str(load.pid))
        assert load.ask()["modules"] == []
        load.end()


STEPS: dict[str, Callable[[attach_load.Load], None]] = {
    "dump": check_dump,
    "attach": check_attach,
    "trace": check_trace,
    "detach": check_detach,
    "attach and trace": check_attach_and_trace,
    "kernel": check_kernel,
    "waits for a lock": check_lock_wait,
}


def stress(letters: str, rounds: int) -> None:
    account = attach_stress.Account()
    with attach_load.loaded(sys.executable, letters, SIGNALS) as load:
        attach_stress.attach_again_and_again(load, rounds, account)
        load.end()
    stood = sorted(account.stood)
    print(
        f"load {letters}: {account.attaches} attaches, {account.detaches} detaches, {dict(account.refusals)},"
        f" {account.signals} signals, {len(stood)} stops, median {stood[len(stood) // 2] / 1000:.1f} ms,"
        f" longest {stood[-1] / 1000:.1f} ms",
        flush=True,
    )


def try_step(name: str, act: Callable[[], object]) -> None:
    try:
        act()
        print("ok", name, flush=True)
    except Exception:  # noqa: BLE001 - the other steps are tried as well
        traceback.print_exc()
        print("failed", name, flush=True)


def main() -> None:
    os.environ["PYTHONUNBUFFERED"] = "1"
    print(os.uname(), sys.version, flush=True)
    with attach_load.loaded(sys.executable, "t") as load:
        for name, check in STEPS.items():
            try_step(name, lambda check=check: check(load))
        load.end()
    for letters in sys.argv[2:]:
        try_step(letters, lambda letters=letters: stress(letters, int(sys.argv[1])))


if __name__ == "__main__":
    main()
