"""The programs that values.py measures: those of vm_programs.py and a route of FastAPI, alone or under a tool that
takes the arguments of each function as text."""

import contextlib
import sys
import time

import vm_programs


def fastapi():
    import asyncio

    from fastapi import FastAPI
    from pydantic import BaseModel

    app = FastAPI()

    class Item(BaseModel):
        name: str
        price: float

    @app.get("/items/{number}")
    async def read(number: int, limit: int = 5) -> list[Item]:
        return [Item(name=f"item {each}", price=each * number) for each in range(limit)]

    async def receive():
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message):
        assert message.get("status", 200) == 200

    scope = {"type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "GET"}
    scope |= {"scheme": "http", "path": "/items/7", "raw_path": b"/items/7", "root_path": ""}
    scope |= {"query_string": b"limit=9", "headers": [], "client": ("h", 1), "server": ("h", 80)}

    async def serve():
        for _ in range(10):
            await app(dict(scope), receive, send)

    loop = asyncio.new_event_loop()
    return lambda: loop.run_until_complete(serve())


@contextlib.contextmanager
def viztracer_arguments():
    from viztracer import VizTracer

    tracer = VizTracer(verbose=0, tracer_entries=4_000_000, log_func_args=True)
    tracer.start()
    yield
    tracer.stop()
    tracer.clear()


@contextlib.contextmanager
def settrace_repr():
    size = 0

    def trace(frame, event, _argument):
        nonlocal size
        if event == "call":
            with contextlib.suppress(Exception):  # a repr() of an object that is not made yet
                size += len(repr(frame.f_locals))

    sys.settrace(trace)
    yield
    sys.settrace(None)


def send_values(seconds, each_second):
    """Calls send(value) so often, with a value of 1 KB; prints the calls, and the processor time of one in ns."""
    value = [f"{number:03}" + "x" * 95 for number in range(10)]

    def send(value):
        return value

    began, used, calls = time.monotonic(), time.process_time_ns(), 0
    while (now := time.monotonic() - began) < seconds:
        for _ in range(int(now * each_second) - calls):
            send(value)
            calls += 1
        time.sleep(0.001)
    print("sent", calls, time.process_time_ns() - used, flush=True)


vm_programs.PROGRAMS["fastapi"] = fastapi
vm_programs.TOOLS |= {
    "viztracer log_func_args": viztracer_arguments,
    "settrace, repr": settrace_repr,
}

if __name__ == "__main__":
    if sys.argv[1] == "send":
        send_values(float(sys.argv[2]), int(sys.argv[3]))
    else:
        vm_programs.main(*sys.argv[1:])
