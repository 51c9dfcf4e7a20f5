"""What PYUSDT_FLIGHT=exceptions costs: code without exceptions, an exception that is counted, one that is read.

Arguments: interpreters that can import pyusdt. Each runs without and with it, in turn; processor times, the least of ROUNDS.
"""

import os
import subprocess
import sys

ROUNDS = 5
PROGRAM = """
import sys, time
import pyusdt

def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)

def catches(n):
    for _ in range(n):
        try:
            {}["k"]
        except KeyError:
            pass

def least(call, *args):
    best = 1e9
    for _ in range(7):
        began = time.thread_time()
        call(*args)
        best = min(best, time.thread_time() - began)
    return best

scope = {}
exec("\\n".join(f"def f{i}(a, b):\\n    c = [a, b]\\n    raise ValueError(a)" for i in range(60)), scope)

def deep(n, function):
    if n:
        return deep(n - 1, function)
    try:
        function(1, "text")
    except ValueError:
        pass

def distinct(first, last, depth):
    began = time.thread_time()
    for i in range(first, last):
        deep(depth, scope[f"f{i}"])
    return (time.thread_time() - began) / (last - first)

catches(1)
time.sleep(0.1)
few, many = distinct(0, 20, 3), distinct(20, 40, 60)
print(least(fib, 20), least(catches, 20000) / 20000, few, many)
"""


def measure(python: str, wish: str) -> list[float]:
    rundir = f"/dev/shm/pyusdt-bench-{os.getpid()}"
    os.makedirs(rundir, mode=0o700, exist_ok=True)
    environment = {**os.environ, "PYUSDT_RUNDIR": rundir, "PYUSDT_FLIGHT": wish}
    done = subprocess.run(
        [python, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=True
    )
    for name in os.listdir(rundir):
        os.unlink(os.path.join(rundir, name))
    os.rmdir(rundir)
    return [float(word) for word in done.stdout.split()]


def main() -> None:
    for python in sys.argv[1:]:
        rounds = [(measure(python, ""), measure(python, "exceptions")) for _ in range(ROUNDS)]
        off, on = ([min(column) for column in zip(*runs)] for runs in zip(*rounds))
        print(
            f"{python}: fib {on[0] / off[0]:.2f}; an exception {off[1] * 1e9:.0f} ns, "
            f"counted +{(on[1] - off[1]) * 1e9:.0f} ns; read, 6 functions +{(on[2] - off[2]) * 1e6:.0f} us, "
            f"64 functions +{(on[3] - off[3]) * 1e6:.0f} us"
        )


if __name__ == "__main__":
    main()
