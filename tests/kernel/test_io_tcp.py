"""io, tcp, ip and udp on the kernel engine: their probes and the translators of their arguments."""

import glob
import os
import socket
import sys

import pytest

from pydtrace.engine.kernel.kernel_structs import BTF
from tests.support.kernel_harness import pydtrace

pytestmark = [
    pytest.mark.usefixtures("bpf"),
    pytest.mark.skipif(not os.path.exists(BTF), reason="host: the kernel has no type information"),
]
STATES = """tcp:::state-change /args[3]->tcps_lport == PORT || args[3]->tcps_rport == PORT/ {
    printf("%s %s %s %s\\n", args[3]->tcps_rport == PORT ? "client" : "server", tcp_state_string[args[5]->tcps_state],
           tcp_state_string[args[3]->tcps_state], args[3]->tcps_raddr); }
tcp:::connect-request, tcp:::connect-established, tcp:::connect-refused /args[4]->tcp_dport == PORT/ {
    printf("%s %s %d %d\\n", probename, args[2]->ip_daddr, args[2]->ip_ver, args[1]->cs_cid == arg1); }
tcp:::accept-established /args[4]->tcp_sport == PORT/ { printf("%s %d\\n", probename, args[3]->tcps_mss > 0); }
"""


def lines_of(script, program, tmp_path, port):
    (tmp_path / "program.py").write_text(program)
    out, err, _ = pydtrace(
        "-qn",
        script.replace("PORT", str(port)),
        "-c",
        f"{sys.executable} -SE {tmp_path}/program.py",
    )
    return out.split("\n"), err


@pytest.mark.parametrize(
    ("family", "address", "version"),
    [(socket.AF_INET, "127.0.0.1", 4), (socket.AF_INET6, "::1", 6)],
)
def test_a_connection_from_its_beginning_to_its_end(family, address, version, tmp_path):
    try:
        server = socket.create_server((address, 0), family=family)
    except OSError:
        pytest.skip("host: no such addresses")
    port = server.getsockname()[1]
    program = f"import socket\nc = socket.create_connection(({address!r}, {port}))\nc.shutdown(socket.SHUT_WR)\n"
    with server:
        lines, err = lines_of(STATES, program, tmp_path, port)
    client = [line.split()[1:] for line in lines if line.startswith("client")]
    assert client[:3] == [
        ["state-closed", "state-syn-sent", address],
        ["state-syn-sent", "state-established", address],
        ["state-established", "state-fin-wait-1", address],
    ], err
    opened = [line.split()[1:3] for line in lines if line.startswith("server")]
    assert opened[:2] == [
        ["state-listen", "state-syn-received"],
        ["state-syn-received", "state-established"],
    ]
    assert {
        f"connect-request {address} {version} 1",
        f"connect-established {address} {version} 1",
        "accept-established 1",
    } <= set(lines)
    assert not any("refused" in line for line in lines)


def test_a_connection_that_is_refused(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    program = f"import socket\ntry:\n    socket.create_connection(('127.0.0.1', {port}))\nexcept OSError:\n    pass\n"
    lines, err = lines_of(STATES, program, tmp_path, port)
    assert (
        "connect-refused 127.0.0.1 4 1" in lines
        and "client state-syn-sent state-closed 127.0.0.1" in lines
    ), err


@pytest.mark.skipif(not glob.glob("/sys/block/*/device"), reason="host: no disk")
def test_requests_of_a_disk(tmp_path):
    """What a program writes and has on its disk goes there: the bytes that were begun are those that were done, at least the file's."""
    script = (
        "io:::start { begun[arg0] = args[0]->b_bcount; } io:::done /begun[arg0]/ { @n[args[1]->dev_statname, args[0]->b_error, begun[arg0] == "
        "args[0]->b_bcount, args[0]->b_edev == (args[1]->dev_major << 20 | args[1]->dev_minor)] = sum(args[0]->b_flags & B_WRITE ? "
        "args[0]->b_bcount : 0); begun[arg0] = 0; }"
    )
    program = f"import os\nf = open({str(tmp_path / 'file')!r}, 'wb')\nf.write(bytes(1 << 20))\nf.flush()\nos.fsync(f.fileno())\n"
    lines, err = lines_of(script, program, tmp_path, 0)
    rows = [line.split() for line in lines if line.strip()]
    if not any(int(row[-1]) for row in rows):
        pytest.skip("host: temporary files are on no disk")
    disks = {os.path.basename(path) for path in glob.glob("/sys/block/*")} | {"<none>"}
    assert {row[0] for row in rows} <= disks and {tuple(row[1:4]) for row in rows} == {
        ("0", "1", "1")
    }, err
    assert sum(int(row[-1]) for row in rows) >= 1 << 20


PACKETS = """ip:::send, ip:::receive /args[4]->ipv4_protostr == "TCP" || args[5]->ipv6_nextstr == "TCP" || args[4]->ipv4_protocol == IPPROTO_UDP ||
    args[5]->ipv6_nexthdr == IPPROTO_UDP/ { printf("ip %s %d %s %s %s %d %d %d\\n", probename, args[2]->ip_ver, args[2]->ip_saddr, args[2]->ip_daddr,
    args[3]->if_name, args[3]->if_local, args[2]->ip_plength, args[4]->ipv4_length + args[5]->ipv6_plen); }
tcp:::send, tcp:::receive /args[3]->tcps_lport == PORT || args[3]->tcps_rport == PORT/ { printf("tcp %s %s %d %d %d %d %d %s\\n", probename,
    args[3]->tcps_raddr, args[4]->tcp_sport == PORT, args[4]->tcp_flags & (TH_SYN | TH_FIN | TH_ACK), args[2]->ip_plength - args[4]->tcp_offset,
    args[3]->tcps_lport == (probename == "send" ? args[4]->tcp_sport : args[4]->tcp_dport), args[3]->tcps_mss > 0, tcp_state_string[args[3]->tcps_state]); }
udp:::send, udp:::receive /args[3]->udps_lport == PORT || args[3]->udps_rport == PORT/ { printf("udp %s %s %s %d %d %d\\n", probename, args[3]->udps_laddr,
    args[3]->udps_raddr, args[4]->udp_length, args[4]->udp_dport == PORT, args[3]->udps_lport == (probename == "send" ? args[4]->udp_sport :
    args[4]->udp_dport)); }
"""


@pytest.mark.parametrize(
    ("family", "address", "version"),
    [(socket.AF_INET, "127.0.0.1", 4), (socket.AF_INET6, "::1", 6)],
)
def test_packets(family, address, version, tmp_path):
    """A connection that carries 100 bytes, and a datagram of 37, each packet as it goes out and as it comes in."""
    try:
        server = socket.create_server((address, 0), family=family)
    except OSError:
        pytest.skip("host: no such addresses")
    port = server.getsockname()[1]
    program = (
        f"import socket\ns = socket.create_server(({address!r}, {port}), family={family.value})\n"
        f"c = socket.create_connection(({address!r}, {port}))\na, _ = s.accept()\nc.sendall(bytes(100))\na.recv(100)\nc.close()\na.recv(1)\n"
        f"u, v = (socket.socket({family.value}, socket.SOCK_DGRAM) for _ in 'uv')\nu.bind(({address!r}, {port}))\n"
        f"v.sendto(bytes(37), ({address!r}, {port}))\nu.recv(100)\n"
    )
    server.close()
    lines, err = lines_of(PACKETS, program, tmp_path, port)
    for way in ("send", "receive"):
        tcp = [line.split()[2:] for line in lines if line.startswith(f"tcp {way} ")]
        assert {row[0] for row in tcp} == {address} and {row[4] for row in tcp} == {"1"}, err
        client, server_side = ([row for row in tcp if row[1] == side] for side in "01")
        assert (
            client[0][2:4] == ["2", "0"]
            and client[1][2:4] == ["16", "0"]
            and server_side[0][2:4] == ["18", "0"]
        )  # SYN, ACK; SYN and ACK
        assert max(int(row[3]) for row in tcp) == 100 and "17" in [row[2] for row in client]
        assert [line.split()[2:] for line in lines if line.startswith(f"udp {way} ")] == [
            [address, address, "45", "1", "1"]
        ]
        ip = [
            line.split()[2:]
            for line in lines
            if line.startswith(f"ip {way} {version} {address} {address} lo 1 ")
        ]
        assert len(ip) >= len(tcp) + 1 and all(
            int(row[6]) - int(row[5]) == (20 if version == 4 else 0) for row in ip
        )
        states = [row[6] for row in tcp]
        if way == "send":  # what comes in belongs to no socket yet
            assert states[:3] == ["state-syn-sent", "state-syn-received", "state-established"]
            assert [row[5] for row in client][:2] == ["1", "1"] and server_side[0][
                5
            ] == "0"  # there is no whole socket yet
        else:
            assert set(states) == {"state-idle"} and {row[5] for row in tcp} == {"0"}
