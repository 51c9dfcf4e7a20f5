"""Runs pydtrace again and again without loading it again, for test_failing_calls.py.

Input: a line of JSON for each run: the call that fails or null, the words of the command,
variables, files for its two outputs and for the log of its calls, or null.
Output: a line for each: the exit status, negative for a signal, null where it took longer than a
minute.
"""

import ctypes
import json
import os
import signal
import sys
import time

import pydtrace.driver.driver
import pydtrace.engine.embedded.engine
import pydtrace.select_engine
import pydtrace.sinks.dtrace_text_sink
import pyusdt.vm.inject_env  # noqa: F401 (what a run would load)
from pydtrace.cli.pydtrace import main as pydtrace

LONGEST = 60  # seconds of a run


def trace(calls, failing, words, variables, outputs, log):
    for number, path in enumerate(outputs, 1):
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(fd, number)
        os.close(fd)
    os.environ.update(variables)
    sys.argv = words
    calls.failing_calls_begin(failing and failing.encode())
    try:
        pydtrace.main(words[1:])
    except SystemExit as ended:
        status = ended.code
    sys.stdout.flush()
    if log:
        calls.failing_calls_log(log.encode())
    return status


def wait_for(pid):
    until = time.monotonic() + LONGEST
    while True:
        found, status = os.waitpid(pid, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() > until:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            return None
        time.sleep(0.005)


def main():
    calls = ctypes.CDLL(sys.argv[1])
    for line in sys.stdin:
        pid = os.fork()
        if not pid:
            try:
                status = trace(calls, *json.loads(line))
            except BaseException as error:  # noqa: BLE001 (the test shows it)
                print("Traceback:", repr(error), file=sys.stderr, flush=True)
                status = 99
            os._exit(status)
        print(json.dumps(wait_for(pid)), flush=True)


if __name__ == "__main__":
    main()
