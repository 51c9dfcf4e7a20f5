"""A program under load that a tracer attaches to: attach_loads.py [letters]

Letters: t other threads work, n threads come and go, s SIGALRM at 1 kHz with a handler, f children are forked, p another thread adds
pending calls, j the main thread waits for the others, z it sleeps.

It answers a line on its standard input with a line of JSON: what is in it. `end` ends it; the last line is END and its errors.
"""

import gc
import json
import os
import signal
import sys
import threading
import time

letters = sys.argv[1] if len(sys.argv) > 1 else ""
done, errors, fired, rounds = threading.Event(), [], [0], [0]
DOCUMENT = json.dumps([{"id": i, "name": f"x{i}", "t": [1.5, None, "a"]} for i in range(40)])
lock = threading.Lock()


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


def loop():
    while not done.is_set():
        work()


def come_and_go():
    while not done.is_set():
        each = threading.Thread(target=work)
        each.start()
        each.join()


def add_calls():
    import ctypes

    add = ctypes.pythonapi.Py_AddPendingCall
    add.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
    nothing = ctypes.cast(ctypes.pythonapi.PyErr_CheckSignals, ctypes.c_void_p).value
    while not done.is_set():
        add(nothing, None)
        time.sleep(0.0005)


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
            "errors": errors,
            "resident": resident(),
        }
        print(json.dumps(found), flush=True)
    done.set()


started = [threading.Thread(target=answer, daemon=True)]
if "t" in letters or "j" in letters:
    started += [threading.Thread(target=loop) for _ in range(2)]
if "n" in letters:
    started.append(threading.Thread(target=come_and_go))
if "p" in letters:
    started.append(threading.Thread(target=add_calls))
if "s" in letters:
    signal.signal(signal.SIGALRM, lambda *_: fired.__setitem__(0, fired[0] + 1))
    signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
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
for each in started[1:]:
    each.join()
gc.collect()
print("END", errors, flush=True)
