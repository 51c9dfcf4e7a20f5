"""RabbitMQ as Debian installs it, under load from an AMQP client (its own, amqp_load.escript), traced by -p; traced and not."""

from __future__ import annotations

import os
import re
import statistics

import pytest

from tests.support import harness
from tests.support.servers import rabbitmq

pytestmark = pytest.mark.long
N = 10_000
PAIRS = 3
LOAD = f"ERL_LIBS=$(echo /usr/lib/rabbitmq/lib/rabbitmq_server-*/plugins) escript {harness.ROOT}/tests/integration/amqp_load.escript {N}"
ENABLED = """rabbitmqctl eval 'true = code:add_patha("/opt/pyusdt/erlang_nif/ebin"), pyusdt_vm:enable(#{unsafe => true, rate => infinity}).'"""
# The route of a message is looked up once for each; of the sends a lower bound is known.
PROGRAM = """erlang*:rabbit_exchange:route:local-function-entry { @[copyinstr(arg1)] = count(); }
             erlang*:::message-send { @[probename] = count(); }"""
TRACED = f"""pydtrace -q -p $(cat /var/lib/rabbitmq/mnesia/*.pid) -n '{PROGRAM}' >/dev/shm/out 2>&1 & tracer=$!
until rabbitmqctl eval 'maps:get(armed, pyusdt_vm:info()).' | grep -q true; do sleep 0.2; done
{LOAD}; kill -TERM $tracer; wait $tracer; cat /dev/shm/out
while rabbitmqctl eval 'maps:get(armed, pyusdt_vm:info()).' | grep -q true; do sleep 0.2; done"""


def test_load(erlang):
    if os.geteuid() != 0:
        pytest.skip("host: not root")
    if lacking := harness.tools(*rabbitmq.NEEDS):
        pytest.skip(f"no {lacking}")
    path = f"{os.path.dirname(harness.PYDTRACE)}:{os.environ['PATH']}"

    def microseconds(command: str) -> tuple[int, harness.Run]:
        run = broker.run(command, path)
        took = re.search(rf"consumed {N} in (\d+) us", run.stdout)
        assert took, run
        return int(took[1]), run

    with rabbitmq.broker() as broker:
        assert (
            broker.run(
                "rabbitmq-server -detached; until rabbitmqctl -q await_startup 2>&1; do sleep 0.5; done",
                path,
            ).status
            == 0
        )
        assert broker.run(ENABLED, path).stdout == "ok\n"
        microseconds(LOAD)
        pairs = []
        for _ in range(PAIRS):
            untraced, _ = microseconds(LOAD)
            traced, run = microseconds(TRACED)
            assert re.search(rf"^ +rabbit_exchange:route/2 +{N}$", run.stdout, re.MULTILINE), run
            assert (
                int(re.search(r"^ +message-send +(\d+)$", run.stdout, re.MULTILINE)[1]) > N
                and "drop" not in run.stdout
            ), run
            pairs.append((untraced, traced))
    print(
        f"microseconds for {N} messages, untraced and traced: {pairs};"
        f" median of the ratios {statistics.median(traced / untraced for untraced, traced in pairs):.2f}"
    )
