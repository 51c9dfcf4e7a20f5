"""RabbitMQ as Debian installs it, where nothing else sees it: for the recipe in docs/howto/frameworks/rabbitmq.md.

Input: shell commands as a reader types them, on Debian's paths, with pyusdt in /opt/pyusdt.
Output: harness.Run.

- The broker has files, pids, ports and a host name of its own, in namespaces, so the machine's
  own broker (if it has one) is never touched, and the end of the first process takes all others
  with it. There is no systemd: `systemctl` is a script that starts the server by Debian's command
  and waits for it, as a unit of Type=notify does.
"""

from __future__ import annotations

import contextlib
import os

from tests.support import harness

# /opt itself stays as it is: the interpreter may be in it
MAKE = """
hostname localhost && ip link set lo up
for folder in /dev/shm /etc/rabbitmq /var/lib/rabbitmq /var/log/rabbitmq; do mount -t tmpfs -o mode=755 tmpfs $folder; done
chown rabbitmq: /var/lib/rabbitmq /var/log/rabbitmq
mkdir -p /dev/shm/opt/pyusdt/erlang_nif /dev/shm/bin
cp -r erlang_nif/ebin erlang_nif/priv /dev/shm/opt/pyusdt/erlang_nif
cat >/dev/shm/bin/systemctl <<'SCRIPT'
#!/bin/sh
rabbitmq-server -detached
until rabbitmqctl -q await_startup 2>/dev/null; do sleep 0.2; done # which fails as long as there is no node at all
SCRIPT
chmod +x /dev/shm/bin/systemctl
chmod 1777 /dev/shm # a broker that is killed leaves the files of its probes there, not in the machine's /tmp
echo made && exec sleep 600
"""
NEEDS = ("unshare", "nsenter", "runuser", "ip", "hostname", "rabbitmqctl")


class Broker:
    """run(command, PATH) is a shell's run of one command beside the others."""

    def __init__(self, holder: int):
        self._enter = [
            "nsenter",
            "-t",
            str(holder),
            "-m",
            "-n",
            "-u",
            f"--pid=/proc/{holder}/ns/pid_for_children",
        ]

    def run(self, command: str, path: str) -> harness.Run:
        environment = {name: value for name, value in os.environ.items() if name != "PYUSDT_RUNDIR"}
        environment |= {"PATH": f"/dev/shm/bin:{path}", "LC_ALL": "C.UTF-8"}
        shell = ["bash", "-c", command.replace("/opt/pyusdt", "/dev/shm/opt/pyusdt")]
        return harness.run([*self._enter, *shell], timeout=60, cwd=harness.ROOT, env=environment)


@contextlib.contextmanager
def broker():
    command = ["unshare", "-mnupf", "--mount-proc", "--kill-child", "sh", "-ec", MAKE]
    with harness.running(command, cwd=harness.ROOT) as holder:
        line = holder.stdout.readline()
        assert line == "made\n", harness.finish(holder, 5)
        yield Broker(holder.pid)
