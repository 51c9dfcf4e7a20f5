"""Packets at raw tracepoints: whether one is of IP, TCP or UDP, and where its headers are.

The tracepoints are net_dev_queue and netif_receive_skb, whose word 0 is the packet.

- An outgoing packet knows the offsets of its headers.  Of an incoming one the kernel does not know
  them yet, but its data begin with the IP header.
- r8, from a condition to the arguments, is the address of the IP header.
- A fragment that is not the first has no header behind that of IP.  Extension headers of IPv6 are
  not followed.

Sources: include/linux/skbuff.h and net/core/dev.c of Linux; RFC 791, 768, 8200, 9293.
"""

from __future__ import annotations

from socket import htons

from pydtrace.bpf.insn import R0, R1, R3, R6, R8, alu, alu_imm, ja, jump_imm, load, mov, mov_imm
from pydtrace.bpf.program_builder import Label
from pydtrace.engine.kernel.passes.read_kernel_memory import emit_read

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pydtrace.bpf.program_builder import CodeBuilder

    from .raw_tracepoints import Argument, Condition, KernelInfo

TCP, UDP = 6, 17
INBOUND, OUTBOUND = 0, 1  # arg5 of udp, arg6 of tcp
_IPV4, _IPV6 = htons(0x0800), htons(0x86DD)  # as a packet has it
_SIZE_IPV6 = 40
_SYN_RECEIVED, _NEW_SYN_RECEIVED = 3, 12  # states of TCP
_FRAGMENT = htons(0x1FFF)  # where a fragment begins, of a header's word of flags


def _emit_packet(g: CodeBuilder) -> None:
    """r3 = the packet."""
    g.emit(load(8, R3, R6, 0))


def _member_argument(name: str, size: int) -> Argument:
    """The argument that is a member of the packet's."""

    def emit(g: CodeBuilder, kernel: KernelInfo) -> None:
        _emit_packet(g)
        emit_read(g, size, R3, kernel.member_offset("sk_buff", name))

    return emit


socket, device = _member_argument("sk", 8), _member_argument("dev", 8)


def _emit_packet_argument(g: CodeBuilder, kernel: KernelInfo) -> None:
    g.emit(load(8, R0, R6, 0))


def _constant_argument(value: int) -> Argument:
    return lambda g, kernel: g.emit(mov_imm(R0, value))


def emit_ip_header(g: CodeBuilder, kernel: KernelInfo) -> None:
    """The argument that is the header of IP."""
    g.emit(mov(R0, R8))


def ip_header_argument(version: int) -> Argument:
    """The argument that is the header of IP, if it is of this version, else 0."""

    def emit(g: CodeBuilder, kernel: KernelInfo) -> None:
        done = Label()
        _emit_ip_version(g)
        g.emit(mov(R1, R0), mov_imm(R0, 0), jump_imm("jne", R1, version, done), mov(R0, R8))
        g.place_label(done)

    return emit


def _emit_ip_version(g: CodeBuilder) -> None:
    emit_read(g, 1, R8, 0)
    g.emit(alu_imm("rsh", R0, 4))


def emit_transport_header(g: CodeBuilder, kernel: KernelInfo) -> None:
    """The argument that is the header behind that of IP."""
    older, done = Label(), Label()
    emit_read(g, 1, R8, 0)
    g.emit(
        mov(R1, R0),
        alu_imm("rsh", R1, 4),
        jump_imm("jeq", R1, 4, older),
        mov_imm(R0, _SIZE_IPV6),
        ja(done),
    )
    g.place_label(older)
    g.emit(alu_imm("and", R0, 15), alu_imm("lsh", R0, 2))
    g.place_label(done)
    g.emit(alu("add", R0, R8))


def emit_tcp_state(g: CodeBuilder, kernel: KernelInfo) -> None:
    """The argument that is the state of the packet's socket, 0 where it has none.  The kernel has a state of its own for a socket
    that is not whole yet."""
    done = Label()
    socket(g, kernel)
    g.emit(jump_imm("jeq", R0, 0, done), mov(R3, R0))
    emit_read(g, 1, R3, kernel.member_offset("sock_common", "skc_state"))
    g.emit(jump_imm("jne", R0, _NEW_SYN_RECEIVED, done), mov_imm(R0, _SYN_RECEIVED))
    g.place_label(done)


def ip_condition(side: int) -> Condition:
    """The condition that a packet is of IP; side: INBOUND or OUTBOUND."""

    def emit(g: CodeBuilder, kernel: KernelInfo, left: Label) -> None:
        known = Label()
        _member_argument("protocol", 2)(g, kernel)
        g.emit(jump_imm("jeq", R0, _IPV4, known), jump_imm("jne", R0, _IPV6, left))
        g.place_label(known)
        _member_argument("data" if side == INBOUND else "head", 8)(g, kernel)
        g.emit(mov(R8, R0))
        if side == OUTBOUND:
            _member_argument("network_header", 2)(g, kernel)
            g.emit(alu("add", R8, R0))

    return emit


def protocol_condition(protocol: int) -> Condition:
    """The condition behind ip_condition() that a packet has a header of this protocol."""

    def emit(g: CodeBuilder, kernel: KernelInfo, left: Label) -> None:
        older, done = Label(), Label()
        _emit_ip_version(g)
        g.emit(jump_imm("jeq", R0, 4, older))
        emit_read(g, 1, R8, 6)
        g.emit(ja(done))
        g.place_label(older)
        emit_read(g, 2, R8, 6)
        g.emit(alu_imm("and", R0, _FRAGMENT), jump_imm("jne", R0, 0, left))
        emit_read(g, 1, R8, 9)
        g.place_label(done)
        g.emit(jump_imm("jne", R0, protocol, left))

    return emit


def packet_probes() -> list[tuple[str, str, str, list[Condition], dict[int, Argument]]]:
    """[(provider, name, tracepoint, conditions, arguments)] of the probes of packets, for raw.Fixed."""
    found = []
    for name, side, tracepoint in (
        ("receive", INBOUND, "netif_receive_skb"),
        ("send", OUTBOUND, "net_dev_queue"),
    ):
        ip = {0: _emit_packet_argument, 1: socket, 2: emit_ip_header}
        found += [
            (
                "ip",
                name,
                tracepoint,
                [ip_condition(side)],
                {**ip, 3: device, 4: ip_header_argument(4), 5: ip_header_argument(6)},
            ),
            (
                "tcp",
                name,
                tracepoint,
                [ip_condition(side), protocol_condition(TCP)],
                {
                    **ip,
                    3: socket,
                    4: emit_transport_header,
                    5: emit_tcp_state,
                    6: _constant_argument(side),
                },
            ),
            (
                "udp",
                name,
                tracepoint,
                [ip_condition(side), protocol_condition(UDP)],
                {**ip, 3: socket, 4: emit_transport_header, 5: _constant_argument(side)},
            ),
        ]
    return found
