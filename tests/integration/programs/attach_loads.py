"""A program under load that a tracer attaches to: attach_loads.py [letters [counted_signals.so]]

Letters: t other threads work, n threads come and go, s SIGALRM at 1 kHz with a handler, f children are forked, p another thread adds
pending calls, j the main thread waits for the others, z it sleeps, i blocks go through a pipe, a socket and a file, g a thread
keeps the GIL in C for 20 ms, now and then for a second, x sub-interpreters come and go.

With the library, all signals of a timer at 1 kHz and queued ones are counted (counted_signals.c).

It answers a line on its standard input with a line of JSON: what is in it. `end` ends it; the last line is END and its errors.
"""

import gc
import hashlib
import json
import os
import signal
import socket
import sys
import tempfile
import threading
import time

letters = sys.argv[1] if len(sys.argv) > 1 else ""
done, errors, fired, rounds = threading.Event(), [], [0], [0]
progress = {}  # by the name of the thread
DOCUMENT = json.dumps([{"id": i, "name": f"x{i}", "t": [1.5, None, "a"]} for i in range(40)])
MISSING = ("missing_alarms", "missing_queued")
lock, library = threading.Lock(), None


class Cyclic:
    def __init__(self, number):
        self.number, self.me = number, self

    def __del__(self):
        fired[0] += 1


def work():
    rounds[0] += 1
    try:
        loaded = json.loads(DOCUMENT)
        _ = {str(i): Cyclic(i) for i in range(20)}
        try:
            raise ValueError(loaded[0])
        except ValueError:
            pass
        with lock:
            sum(i * i for i in range(100))
        assert json.loads(json.dumps(loaded)) == loaded
    except BaseException as error:
        errors.append(repr(error))
        raise


def repeat(act):
    """Until the end; each thread says that it goes on."""
    name = threading.current_thread().name
    while not done.is_set():
        try:
            act()
        except BaseException as error:
            errors.append(f"{act.__name__}: {error!r}")
            raise
        progress[name] += 1


def loop():
    repeat(work)


def start_and_join():
    each = threading.Thread(target=work)
    each.start()
    each.join()


def come_and_go():
    repeat(start_and_join)


def pass_blocks():
    """What comes out is what went in."""
    reader, writer = os.pipe()
    left, right = socket.socketpair()
    with tempfile.TemporaryFile() as file, left, right:

        def pass_block():
            block = os.urandom(4096)
            os.write(writer, block)
            left.sendall(os.read(reader, len(block)))
            file.seek(0)
            file.write(right.recv(len(block), socket.MSG_WAITALL))
            file.seek(0)
            got = file.read()
            assert hashlib.sha256(got).digest() == hashlib.sha256(block).digest(), "a wrong byte"

        repeat(pass_block)
    os.close(reader)
    os.close(writer)


def keep_gil():
    import ctypes

    sleep = ctypes.PyDLL(None).usleep  # without letting the GIL go
    turns = [0]

    def keep():
        turns[0] += 1
        sleep(999999 if turns[0] % 50 == 0 else 20000)
        time.sleep(0.02)

    repeat(keep)


def make_interpreters():
    import importlib

    name = "_interpreters" if sys.version_info >= (3, 13) else "_xxsubinterpreters"
    module = importlib.import_module(name)

    def make():
        each = module.create()
        module.run_string(each, "sum(range(1000))")
        module.destroy(each)
        time.sleep(0.001)

    repeat(make)


def add_calls():
    import ctypes

    add = ctypes.pythonapi.Py_AddPendingCall
    add.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
    nothing = ctypes.cast(ctypes.pythonapi.PyErr_CheckSignals, ctypes.c_void_p).value

    def add_call():
        add(nothing, None)
        time.sleep(0.0005)

    repeat(add_call)


def mappings():
    with open("/proc/self/maps") as file:
        return sorted({line.split()[-1] for line in file if "pyusdt" in line or "pyvm" in line})


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1])


def threads():
    names = []
    for each in os.listdir("/proc/self/task"):
        try:
            with open(f"/proc/self/task/{each}/comm") as file:
                names.append(file.read().strip())
        except OSError:
            pass
    return sorted(names)


def await_signals(name):
    """How many are missing when all that were to come have come: the least of many looks."""
    function, least = getattr(library, name), 1 << 40
    end = time.monotonic() + 20
    while least > 0 and time.monotonic() < end:
        least = min(least, function())
    return least


def load_library(path):
    import ctypes

    found = ctypes.PyDLL(path)
    for name in (*MISSING, "count_signals"):
        getattr(found, name).restype = ctypes.c_longlong
    return found


def answer():
    for line in sys.stdin:
        if line == "end\n":
            break
        found = {
            "modules": sorted(name for name in sys.modules if name.startswith("pyusdt")),
            "names": sorted(name for name in vars(sys.modules["__main__"])),
            "threads": threads(),
            "descriptors": len(os.listdir("/proc/self/fd")),
            "mappings": mappings(),
            "finders": len(sys.meta_path),
            "wrapped": hasattr(getattr(os, "setns", None), "__wrapped__"),
            "rounds": rounds[0],
            "progress": list(progress.values()),
            "errors": errors,
            "resident": resident(),
        }
        if library:
            found["signals"] = library.count_signals()
            found["missing"] = [await_signals(each) for each in MISSING]
        print(json.dumps(found), flush=True)
    done.set()


started = [threading.Thread(target=answer, daemon=True)]
if "t" in letters or "j" in letters:
    started += [threading.Thread(target=loop) for _ in range(2)]
if "n" in letters:
    started.append(threading.Thread(target=come_and_go))
if "p" in letters:
    started.append(threading.Thread(target=add_calls))
for letter, target in [("i", pass_blocks), ("g", keep_gil), ("x", make_interpreters)]:
    if letter in letters:
        started.append(threading.Thread(target=target))
if "s" in letters:
    signal.signal(signal.SIGALRM, lambda *_: fired.__setitem__(0, fired[0] + 1))
if len(sys.argv) > 2:
    library = load_library(sys.argv[2])
    assert library.start_signals() == 0
elif "s" in letters:
    signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
progress.update((each.name, 0) for each in started[1:])
for each in started:
    each.start()
print("ready", flush=True)
if "j" in letters:
    started[-1].join()
while not done.is_set():
    if "f" in letters:
        child = os.fork()
        if child == 0:
            work()
            os._exit(len(errors))
        if os.waitpid(child, 0)[1]:
            errors.append("a child failed")
    if "z" in letters:
        done.wait(0.01)
    else:
        work()
signal.setitimer(signal.ITIMER_REAL, 0)
if library:
    library.stop_signals()
for each in started[1:]:
    each.join()
gc.collect()
print("END", errors, flush=True)
