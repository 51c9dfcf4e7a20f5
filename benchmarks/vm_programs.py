"""The programs that benchmarks/vm.py and vm_instructions.py measure: python vm_programs.py [--rounds=N] NAME [TOOL]

Input: a program of PROGRAMS, and a tool of TOOLS that is on while it runs; without one, whatever
traces from outside.
Output: with --rounds nothing; else JSON: the best of six times in nanoseconds, of processor time,
and the calls of Python functions in one run.

- A run takes some 5 to 50 ms alone. richards and deltablue are small programs of our own, after
  the benchmarks of these names.
"""

import contextlib
import json
import os
import sys
import tempfile
import time


def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


# --- richards: tasks of a scheduler hand packets to each other --------------------------------------


class Packet:
    def __init__(self, following, kind):
        self.following, self.kind, self.value = following, kind, 0

    def append_to(self, queue):
        self.following = None
        if queue is None:
            return self
        last = queue
        while last.following is not None:
            last = last.following
        last.following = self
        return queue


class Task:
    def __init__(self, scheduler, number):
        self.scheduler, self.number, self.queue, self.count = scheduler, number, None, 0
        scheduler.tasks.append(self)

    def add(self, packet):
        self.queue = packet.append_to(self.queue)

    def take(self):
        packet, self.queue = self.queue, self.queue.following
        return packet

    def is_waiting(self):
        return self.queue is None

    def run(self):
        packet = self.take()
        self.count += 1
        self.work(packet)
        self.scheduler.hand_on(packet, (self.number + packet.value) % len(self.scheduler.tasks))

    def work(self, packet):
        packet.value = (packet.value + self.number) % 7


class Worker(Task):
    def work(self, packet):
        for _ in range(2):
            packet.value = self.next_value(packet.value)

    def next_value(self, value):
        return value * 3 % 11


class Scheduler:
    def __init__(self):
        self.tasks, self.handed = [], 0

    def hand_on(self, packet, number):
        self.handed += 1
        self.tasks[number].add(packet)

    def run(self, rounds):
        for _ in range(rounds):
            for task in self.tasks:
                if not task.is_waiting():
                    task.run()


def richards():
    scheduler = Scheduler()
    for number in range(6):
        (Worker if number % 2 else Task)(scheduler, number)
    for kind in range(8):
        scheduler.hand_on(Packet(None, kind), kind % 6)
    scheduler.run(700)


# --- deltablue: one-way constraints are kept while their inputs change --------------------------------


class Variable:
    def __init__(self, value):
        self.value, self.constraints = value, []

    def set(self, value):
        if value != self.value:
            self.value = value
            for constraint in self.constraints:
                constraint.execute()


class Constraint:
    def __init__(self, source, target):
        self.source, self.target = source, target
        source.constraints.append(self)

    def is_satisfied(self):
        return self.target.value == self.wanted()

    def wanted(self):
        return self.source.value

    def execute(self):
        if not self.is_satisfied():
            self.target.set(self.wanted())


class Scaled(Constraint):
    def wanted(self):
        return self.source.value * 2 % 1009


def deltablue():
    chain = [Variable(0) for _ in range(60)]
    for number in range(59):
        (Scaled if number % 3 else Constraint)(chain[number], chain[number + 1])
    for value in range(1, 120):
        chain[0].set(value)


# --- what people run --------------------------------------------------------------------------------------


def jinja2():
    import jinja2

    template = jinja2.Environment(autoescape=True).from_string(
        "<table>{% for row in rows %}<tr>{% for cell in row %}<td>{{ cell | upper }}</td>{% endfor %}</tr>{% endfor %}</table>"
    )
    rows = [[f"cell {i} <{k}>" for k in range(8)] for i in range(60)]
    return lambda: [template.render(rows=rows) for _ in range(4)]


def django():
    import django
    from django.conf import settings
    from django.http import HttpResponse
    from django.test import RequestFactory
    from django.urls import path, resolve

    settings.configure(
        ROOT_URLCONF=__name__,
        DEBUG=False,
        ALLOWED_HOSTS=["*"],
        SECRET_KEY="bench",
        TEMPLATES=[{"BACKEND": "django.template.backends.django.DjangoTemplates"}],
    )
    django.setup()
    from django.template import engines

    template = engines["django"].from_string(
        "{% for item in items %}{{ item.name|upper }}: {{ item.n }}\n{% endfor %}"
    )

    def view(request, n):
        return HttpResponse(
            template.render({"items": [{"name": f"item {i}", "n": i} for i in range(n)]}, request)
        )

    globals()["urlpatterns"] = [path("items/<int:n>/", view)]
    requests = RequestFactory()

    def serve():
        for _ in range(10):
            request = requests.get("/items/20/")
            match = resolve(request.path)
            match.func(request, *match.args, **match.kwargs)

    return serve


PROGRAMS = {
    "fib": lambda: lambda: fib(20),
    "richards": lambda: richards,
    "deltablue": lambda: deltablue,
    "jinja2": jinja2,
    "django": django,
}


# --- tools that trace from inside ---------------------------------------------------------------------------


@contextlib.contextmanager
def viztracer():
    from viztracer import VizTracer

    tracer = VizTracer(verbose=0, tracer_entries=4_000_000, max_stack_depth=-1)
    tracer.start()
    yield
    tracer.stop()
    tracer.clear()


@contextlib.contextmanager
def cprofile():
    import cProfile

    with cProfile.Profile():
        yield


@contextlib.contextmanager
def yappi():
    import yappi

    yappi.start()
    yield
    yappi.stop()


@contextlib.contextmanager
def coverage():
    import coverage

    if not hasattr(sys, "monitoring"):
        raise SystemExit("coverage has its sysmon from CPython 3.12 on")
    os.environ["COVERAGE_CORE"] = "sysmon"
    tool = coverage.Coverage(data_file=None)
    tool.start()
    yield
    tool.stop()


@contextlib.contextmanager
def memray():
    import memray

    with tempfile.TemporaryDirectory() as folder, memray.Tracker(os.path.join(folder, "out")):
        yield


TOOLS = {
    "viztracer": viztracer,
    "cProfile": cprofile,
    "yappi": yappi,
    "coverage (sysmon)": coverage,
    "memray": memray,
}


# --- measuring --------------------------------------------------------------------------------------------------


def calls_of(work):
    count = 0

    def profile(_frame, event, _argument):
        nonlocal count
        count += event == "call"

    sys.setprofile(profile)
    work()
    sys.setprofile(None)
    return count


def repeat(rounds, name, tool=None):
    """For who counts instructions from outside."""
    work = PROGRAMS[name]()
    with TOOLS[tool]() if tool else contextlib.nullcontext():
        for _ in range(rounds):
            work()


def main(name, tool=None):
    work = PROGRAMS[name]()
    work()
    times = []
    for _ in range(6):
        with TOOLS[tool]() if tool else contextlib.nullcontext():
            began = time.process_time_ns()
            work()
            times.append(time.process_time_ns() - began)
    print(
        "measured",
        json.dumps({"best": min(times), "calls": 0 if tool else calls_of(work)}),
        flush=True,
    )


if __name__ == "__main__":
    if sys.argv[1].startswith("--rounds="):
        repeat(int(sys.argv[1].partition("=")[2]), *sys.argv[2:])
    else:
        main(*sys.argv[1:])
