"""The kernel's D library for the arguments of io and tcp, and with kernel_packets.py of ip and
udp.

- The text is that of dtrace's io.d, net.d, ip.d and tcp.d, "" if the running kernel lacks the
  structs.
- The structs are the kernel's own (types/kernel_btf.py). The arguments of a probe are dtrace's:
  arg3 of tcp is the socket, arg5 the next state; arg0 of io is the request, and arg1 of
  io:::done its error.

Sources: the DTrace guide's "io" and "tcp" providers, and the members that dtrace 2.0 translates.
"""

from __future__ import annotations

from . import kernel_packets

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_MEMBERS = {
    "request": ("cmd_flags", "__data_len", "__sector", "end_io", "part"),
    "block_device": ("bd_dev", "bd_disk"),
    "gendisk": ("disk_name",),
    "sock": ("sk_protocol", "__sk_common"),
    "sock_common": (
        "skc_family",
        "skc_num",
        "skc_dport",
        "skc_daddr",
        "skc_rcv_saddr",
        "skc_state",
    ),
    "tcp_sock": (
        "snd_una",
        "snd_nxt",
        "rcv_nxt",
        "snd_wnd",
        "rcv_wnd",
        "snd_cwnd",
        "snd_ssthresh",
        "mss_cache",
        "srtt_us",
        "mdev_us",
    ),
}

_BLOCKS = """
inline int B_BUSY = 1; inline int B_DONE = 2; inline int B_ERROR = 4; inline int B_PAGEIO = 16; inline int B_PHYS = 32;
inline int B_READ = 64; inline int B_WRITE = 256; inline int B_ASYNC = 1024;
typedef struct bufinfo {
    int b_flags; size_t b_bcount; char *b_addr; uint64_t b_lblkno; uint64_t b_blkno; size_t b_resid; size_t b_bufsize;
    char *b_iodone; int b_error; dev_t b_edev;
} bufinfo_t;
typedef struct devinfo {
    int dev_major; int dev_minor; int dev_instance; string dev_name; string dev_statname; string dev_pathname;
} devinfo_t;
typedef struct fileinfo {
    string fi_name; string fi_dirname; string fi_pathname; loff_t fi_offset; string fi_fs; string fi_mount; int fi_oflags;
} fileinfo_t;
translator bufinfo_t < struct request *R > {
    b_flags = (R->cmd_flags & 1 ? B_WRITE : B_READ) | (R->cmd_flags & 0x800 ? 0 : B_ASYNC) | B_PHYS; b_bcount = R->__data_len; b_addr = 0;
    b_lblkno = R->__sector; b_blkno = R->__sector; b_resid = 0; b_bufsize = R->__data_len; b_iodone = (char *)R->end_io; b_error = arg1;
    b_edev = R->part == NULL ? 0 : R->part->bd_dev;
};
translator devinfo_t < struct request *R > {
    dev_major = R->part == NULL ? 0 : R->part->bd_dev >> 20; dev_minor = R->part == NULL ? 0 : R->part->bd_dev & 0xfffff; dev_instance = 0;
    dev_name = R->part == NULL ? "<none>" : stringof(R->part->bd_disk->disk_name);
    dev_statname = R->part == NULL ? "<none>" : stringof(R->part->bd_disk->disk_name); dev_pathname = "<unknown>";
};
translator fileinfo_t < struct request *R > {
    fi_name = "<unknown>"; fi_dirname = "<unknown>"; fi_pathname = "<unknown>"; fi_offset = 0; fi_fs = "<unknown>"; fi_mount = "<unknown>";
    fi_oflags = 0;
};
provider io {
    probe start(struct request *R) : (bufinfo_t *R, devinfo_t *R, fileinfo_t *R);
    probe done(struct request *R) : (bufinfo_t *R, devinfo_t *R, fileinfo_t *R);
};
"""

_STATES = (
    "idle",
    "established",
    "syn-sent",
    "syn-received",
    "fin-wait-1",
    "fin-wait-2",
    "time-wait",
    "closed",
    "close-wait",
    "last-ack",
    "listen",
    "closing",
)
_CONNECTIONS = """
typedef struct conninfo { string ci_local; string ci_remote; string ci_protocol; } conninfo_t;
typedef struct pktinfo { uintptr_t pkt_addr; } pktinfo_t;
typedef struct csinfo { uintptr_t cs_addr; uint64_t cs_cid; } csinfo_t;
typedef struct ipinfo { uint8_t ip_ver; uint32_t ip_plength; string ip_saddr; string ip_daddr; } ipinfo_t;
typedef struct tcpinfo {
    uint16_t tcp_sport; uint16_t tcp_dport; uint32_t tcp_seq; uint32_t tcp_ack; uint8_t tcp_offset; uint8_t tcp_flags;
    uint16_t tcp_window; uint16_t tcp_checksum; uint16_t tcp_urgent; uintptr_t tcp_hdr;
} tcpinfo_t;
typedef struct tcpsinfo {
    uintptr_t tcps_addr; int tcps_local; uint16_t tcps_lport; uint16_t tcps_rport; string tcps_laddr; string tcps_raddr; int tcps_state;
    uint32_t tcps_suna; uint32_t tcps_snxt; uint32_t tcps_rnxt; uint32_t tcps_swnd; uint32_t tcps_rwnd; uint32_t tcps_cwnd;
    uint32_t tcps_cwnd_ssthresh; uint32_t tcps_mss; uint32_t tcps_rtt; uint32_t tcps_rtt_sd;
} tcpsinfo_t;
typedef struct tcplsinfo { int tcps_state; } tcplsinfo_t;
inline string __laddr[struct sock *S] = S->__sk_common.skc_family == AF_INET6 ?
    inet_ntoa6((struct in6_addr *)&S->__sk_common.skc_v6_rcv_saddr) : inet_ntoa((ipaddr_t *)&S->__sk_common.skc_rcv_saddr);
inline string __raddr[struct sock *S] = S->__sk_common.skc_family == AF_INET6 ?
    inet_ntoa6((struct in6_addr *)&S->__sk_common.skc_v6_daddr) : inet_ntoa((ipaddr_t *)&S->__sk_common.skc_daddr);
translator pktinfo_t < struct sk_buff *K > { pkt_addr = (uintptr_t)K; };
translator csinfo_t < struct sock *S > { cs_addr = (uintptr_t)S; cs_cid = (uint64_t)S; };
translator ipinfo_t < struct sock *S > {
    ip_ver = S->__sk_common.skc_family == AF_INET6 ? 6 : 4; ip_plength = 0; ip_saddr = __laddr[S]; ip_daddr = __raddr[S];
};
translator tcpinfo_t < struct sock *S > {
    tcp_sport = S->__sk_common.skc_num; tcp_dport = ntohs(S->__sk_common.skc_dport); tcp_seq = 0; tcp_ack = 0; tcp_offset = 0;
    tcp_flags = 0; tcp_window = 0; tcp_checksum = 0; tcp_urgent = 0; tcp_hdr = 0;
};
translator tcpsinfo_t < struct tcp_sock *T > {
    tcps_addr = (uintptr_t)T; tcps_local = ((struct sock *)T)->__sk_common.skc_family == AF_INET &&
        ((struct sock *)T)->__sk_common.skc_rcv_saddr == ((struct sock *)T)->__sk_common.skc_daddr;
    tcps_lport = ((struct sock *)T)->__sk_common.skc_num; tcps_rport = ntohs(((struct sock *)T)->__sk_common.skc_dport);
    tcps_laddr = __laddr[(struct sock *)T]; tcps_raddr = __raddr[(struct sock *)T]; tcps_state = arg5;
    SOCKET
};
translator tcplsinfo_t < int I > { tcps_state = I; };
"""
_SOCKET = {
    "tcps_suna": "T->snd_una",
    "tcps_snxt": "T->snd_nxt",
    "tcps_rnxt": "T->rcv_nxt",
    "tcps_swnd": "T->snd_wnd",
    "tcps_rwnd": "T->rcv_wnd",
    "tcps_cwnd": "T->snd_cwnd",
    "tcps_cwnd_ssthresh": "T->snd_ssthresh",
    "tcps_mss": "T->mss_cache",
    "tcps_rtt": "(T->srtt_us >> 3) / 1000",
    "tcps_rtt_sd": "(T->mdev_us >> 2) / 1000",
}
_TCP = (
    "state__change",
    "connect__request",
    "connect__established",
    "connect__refused",
    "accept__established",
)
_TCP_ARGUMENTS = (
    "(struct sk_buff *K, struct sock *S, void *H, struct tcp_sock *T, void *G, int N, int I) : "
    "(pktinfo_t *K, csinfo_t *S, ipinfo_t *S, tcpsinfo_t *T, tcpinfo_t *S, tcplsinfo_t *I)"
)


def library_text(kernel: Any) -> str:
    """kernel.offset(structure, member): in the running kernel's struct, None where it has none."""
    needed = [*_MEMBERS.items(), *kernel_packets.MEMBERS.items()]
    if any(
        kernel.member_offset(name, member) is None for name, members in needed for member in members
    ):
        return ""
    names = [
        f"inline int TCP_STATE_{state.upper().replace('-', '_')} = {number};"
        for number, state in enumerate(_STATES)
    ]
    texts = "".join(
        f'state == {number} ? "state-{state}" : ' for number, state in enumerate(_STATES)
    )
    probes = "".join(f"    probe {name}{_TCP_ARGUMENTS};\n" for name in _TCP)
    probes += "".join(
        f"    probe {name}{kernel_packets.TCP_ARGUMENTS};\n" for name in ("send", "receive")
    )
    connections = _CONNECTIONS.replace(
        "SOCKET", " ".join(f"{member} = {value};" for member, value in _SOCKET.items())
    )
    return (
        f'{_BLOCKS}{" ".join(names)}\ninline string tcp_state_string[int state] = {texts}"<unknown>";{connections}'
        f"{kernel_packets.library_text(_SOCKET)}provider tcp {{\n{probes}}};\n"
    )
