"""`pyusdt run`: aiohttp and gRPC, servers and clients in one program each; counts are exact (docs/reference/frameworks.md)."""

from __future__ import annotations

import os

import pytest

from tests.support import harness
from tests.support.instrument_scripts import CLIENTS, HTTP, PYUSDT, fails_and_goes_on

pytestmark = pytest.mark.own_processes
COUNT = 5


def trace(script: str, name: str, part: str) -> tuple[list[str], list[str]]:
    """(the ports that the program has told, the lines of the script)."""
    run = harness.run(
        [
            harness.PYDTRACE,
            "-Zq",
            "-n",
            script,
            "-c",
            f"{PYUSDT} run {harness.program(name, COUNT)}",
        ],
        timeout=120,
        env={**os.environ, "PYUSDT_INSTRUMENT": part},
    )
    assert run.status == 0, run
    ports, *lines = filter(None, run.stdout.split("\n"))
    return ports.split(), sorted(lines)


def test_requests_of_aiohttp():
    """A websocket is no request, and the inner application's route has what it is below."""
    _, lines = trace(HTTP, "instrument_aiohttp.py", "aiohttp")
    answers = {
        "[/item/{number}] 200",
        "[/bad] 500",
        "[/stream] 200",
        "[] 404",
        "[/inner/part/{number}] 200",
    }
    assert [line for line in lines if line.startswith(("GET", "started"))] == sorted(
        [*(f"GET {answer} {COUNT}" for answer in answers), f"started {COUNT * len(answers)}"]
    ), lines
    assert [line for line in lines if line.startswith("bytes")] != ["bytes 0"]


def test_what_a_session_of_aiohttps_sends():
    (port, free), lines = trace(CLIENTS, "instrument_aiohttp.py", "aiohttp")
    asked, refused = f"http://127.0.0.1:{port}", f"http://127.0.0.1:{free}/"
    answers = {
        **{f"/item/{number}": (200, 1) for number in range(COUNT)},
        "/bad": (500, COUNT),
        "/stream": (200, COUNT),
        "/nowhere": (404, COUNT),
        "/inner/part/1": (200, COUNT),
        "/talk": (101, 1),
    }
    assert lines == sorted(
        [
            *(
                f"{asked}{path} {status} GET [] {times}"
                for path, (status, times) in answers.items()
            ),
            *(f"start {asked}{path} {times}" for path, (_, times) in answers.items()),
            f"start {refused} 1",
            f"{refused} -1 GET [ClientConnectorError] 1",
        ]
    )


RPC = """rpc*:::request-start { @started[copyinstr(arg0)] = count(); }
rpc*:::request-done /arg2 > 0/ { @done[copyinstr(arg0), copyinstr(arg1)] = count(); }
rpc*:::call-start { @calls[copyinstr(arg0)] = count(); }
rpc*:::call-done /arg2 > 0/ { @ends[copyinstr(arg0), copyinstr(arg1), copyinstr(arg3)] = count(); }
END { printa("server %s %@d\\n", @started); printa("server %s %s %@d\\n", @done); printa("client %s %@d\\n", @calls);
      printa("client %s %s %s %@d\\n", @ends); }"""


def test_calls_of_grpc():
    """A method that the server does not have reaches no handler of it."""
    (port,), lines = trace(RPC, "instrument_grpc.py", "grpc")
    codes = {
        "Order": "OK",
        "Refuse": "NOT_FOUND",
        "Fail": "UNKNOWN",
        "Parts": "OK",
        "Total": "OK",
        "Echo": "OUT_OF_RANGE",
    }
    times = {"Order": 2 * COUNT}
    expected = [
        line
        for name, code in codes.items()
        for line in (
            f"server /shop.Shop/{name} {times.get(name, COUNT)}",
            f"server /shop.Shop/{name} {code} {times.get(name, COUNT)}",
            f"client /shop.Shop/{name} {times.get(name, COUNT)}",
            f"client /shop.Shop/{name} {code} 127.0.0.1:{port} {times.get(name, COUNT)}",
        )
    ]
    nothing = [
        f"client /shop.Shop/Nothing {COUNT}",
        f"client /shop.Shop/Nothing UNIMPLEMENTED 127.0.0.1:{port} {COUNT}",
    ]
    assert lines == sorted(expected + nothing)


def test_calls_of_grpc_aio():
    """Of a function that is no coroutine the context tells the server no code."""
    (port,), lines = trace(RPC, "instrument_grpc_aio.py", "grpc")
    codes = {
        "Order": "OK",
        "Refuse": "NOT_FOUND",
        "Fail": "UNKNOWN",
        "Parts": "OK",
        "Echo": "OUT_OF_RANGE",
        "Twice": "OK",
        "Total": "OK",
    }
    times = {"Order": 2 * COUNT}
    at = f"127.0.0.1:{port}"
    assert lines == sorted(
        [
            *(
                line
                for name, code in codes.items()
                for n in (times.get(name, COUNT),)
                for line in (
                    f"server /shop.Shop/{name} {n}",
                    f"server /shop.Shop/{name} {'' if name == 'Order' else code} {n}",
                    f"client /shop.Shop/{name} {n}",
                    f"client /shop.Shop/{name} {code} {at} {n}",
                )
            ),
            f"client /shop.Shop/Nothing {COUNT}",
            f"client /shop.Shop/Nothing UNIMPLEMENTED {at} {COUNT}",
            f"client /shop.Shop/Endless {COUNT}",
            f"client /shop.Shop/Endless CANCELLED {at} {COUNT}",
            f"server /shop.Shop/Endless {COUNT}",
            f"server /shop.Shop/Endless UNKNOWN {COUNT}",
        ]
    )


@pytest.mark.parametrize(
    "name", ["instrument_aiohttp.py", "instrument_grpc.py", "instrument_grpc_aio.py"]
)
def test_hooks_that_fail(name):
    fails_and_goes_on(name, 2)
