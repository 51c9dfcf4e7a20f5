"""io and tcp on the kernel engine: their probes and the translators of their arguments."""

import glob
import os
import socket
import sys

import pytest
from kernel_harness import pydtrace

from pyusdt.engine.kernel.structs import BTF

pytestmark = [pytest.mark.usefixtures("bpf"), pytest.mark.skipif(not os.path.exists(BTF), reason="host: the kernel has no type information")]
STATES = """tcp:::state-change /args[3]->tcps_lport == PORT || args[3]->tcps_rport == PORT/ {
    printf("%s %s %s %s\\n", args[3]->tcps_rport == PORT ? "client" : "server", tcp_state_string[args[5]->tcps_state],
           tcp_state_string[args[3]->tcps_state], args[3]->tcps_raddr); }
tcp:::connect-request, tcp:::connect-established, tcp:::connect-refused /args[4]->tcp_dport == PORT/ {
    printf("%s %s %d %d\\n", probename, args[2]->ip_daddr, args[2]->ip_ver, args[1]->cs_cid == arg1); }
tcp:::accept-established /args[4]->tcp_sport == PORT/ { printf("%s %d\\n", probename, args[3]->tcps_mss > 0); }
"""


def lines_of(script, program, tmp_path, port):
    (tmp_path / "program.py").write_text(program)
    out, err, _ = pydtrace("-qn", script.replace("PORT", str(port)), "-c", f"{sys.executable} -SE {tmp_path}/program.py")
    return out.split("\n"), err


@pytest.mark.parametrize(("family", "address", "version"), [(socket.AF_INET, "127.0.0.1", 4), (socket.AF_INET6, "::1", 6)])
def test_a_connection_from_its_beginning_to_its_end(family, address, version, tmp_path):
    try:
        server = socket.create_server((address, 0), family=family)
    except OSError:
        pytest.skip("host: no such addresses")
    port = server.getsockname()[1]
    program = (f"import socket\nc = socket.create_connection(({address!r}, {port}))\nc.shutdown(socket.SHUT_WR)\n")
    with server:
        lines, err = lines_of(STATES, program, tmp_path, port)
    client = [line.split()[1:] for line in lines if line.startswith("client")]
    assert client[:3] == [["state-closed", "state-syn-sent", address], ["state-syn-sent", "state-established", address],
                          ["state-established", "state-fin-wait-1", address]], err
    opened = [line.split()[1:3] for line in lines if line.startswith("server")]
    assert opened[:2] == [["state-listen", "state-syn-received"], ["state-syn-received", "state-established"]]
    assert {f"connect-request {address} {version} 1", f"connect-established {address} {version} 1", "accept-established 1"} <= set(lines)
    assert not any("refused" in line for line in lines)


def test_a_connection_that_is_refused(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    program = f"import socket\ntry:\n    socket.create_connection(('127.0.0.1', {port}))\nexcept OSError:\n    pass\n"
    lines, err = lines_of(STATES, program, tmp_path, port)
    assert "connect-refused 127.0.0.1 4 1" in lines and "client state-syn-sent state-closed 127.0.0.1" in lines, err


@pytest.mark.skipif(not glob.glob("/sys/block/*/device"), reason="host: no disk")
def test_requests_of_a_disk(tmp_path):
    """What a program writes and has on its disk goes there: the bytes that were begun are those that were done, at least the file's."""
    script = ("io:::start { begun[arg0] = args[0]->b_bcount; } io:::done /begun[arg0]/ { @n[args[1]->dev_statname, args[0]->b_error, begun[arg0] == "
              "args[0]->b_bcount, args[0]->b_edev == (args[1]->dev_major << 20 | args[1]->dev_minor)] = sum(args[0]->b_flags & B_WRITE ? "
              "args[0]->b_bcount : 0); begun[arg0] = 0; }")
    program = f"import os\nf = open({str(tmp_path / 'file')!r}, 'wb')\nf.write(bytes(1 << 20))\nf.flush()\nos.fsync(f.fileno())\n"
    lines, err = lines_of(script, program, tmp_path, 0)
    rows = [line.split() for line in lines if line.strip()]
    if not any(int(row[-1]) for row in rows):
        pytest.skip("host: temporary files are on no disk")
    disks = {os.path.basename(path) for path in glob.glob("/sys/block/*")} | {"<none>"}
    assert {row[0] for row in rows} <= disks and {tuple(row[1:4]) for row in rows} == {("0", "1", "1")}, err
    assert sum(int(row[-1]) for row in rows) >= 1 << 20
