"""The part of the kernel's D library for packets: ip, udp, and send and receive of tcp.

- The arguments of a probe are dtrace's: arg2 is the header of IP, arg4 of tcp and udp the header
  behind it; arg5 of udp and arg6 of tcp is the direction (1: out).
- The socket may be NULL, as for every incoming packet, or a partial socket (of a connection that
  begins or has ended); the members of a full socket are then 0.

Sources: the DTrace guide's "ip", "udp" and "tcp" providers; RFC 791, 768, 8200, 9293.
"""

from __future__ import annotations

MEMBERS = {
    "sk_buff": ("protocol", "head", "data", "network_header", "sk", "dev"),
    "sock": ("sk_type",),
    "net_device": ("name", "flags", "nd_net"),
    "iphdr": ("tot_len", "saddr", "daddr", "protocol"),
    "ipv6hdr": ("payload_len", "saddr", "daddr", "nexthdr", "hop_limit"),
    "tcphdr": ("source", "dest", "seq", "ack_seq", "window", "check", "urg_ptr"),
    "udphdr": ("source", "dest", "len", "check"),
}
_PROTOCOLS = {
    "IP": 0, "ICMP": 1, "IGMP": 2, "IPIP": 4, "TCP": 6, "EGP": 8, "PUP": 12, "UDP": 17, "IDP": 22, "TP": 29, "DCCP": 33, "IPV6": 41,
    "ROUTING": 43, "FRAGMENT": 44, "RSVP": 46, "GRE": 47, "ESP": 50, "AH": 51, "ICMPV6": 58, "NONE": 59, "DSTOPTS": 60, "OSPF": 89, "MTP": 92,
    "BEETPH": 94, "ENCAP": 98, "PIM": 103, "COMP": 108, "SCTP": 132, "MH": 135, "UDPLITE": 136, "RAW": 255, "MAX": 256, "HOPOPTS": 0,
}  # fmt: skip
_TEXTS = {"IPV6": "IPv6", "ROUTING": "ROUTE", "ICMPV6": "ICMPv6"}  # what dtrace writes otherwise
_NAMED = (
    "TCP",
    "UDP",
    "IP",
    "ICMP",
    "IGMP",
    "EGP",
    "IPV6",
    "ROUTING",
    "ESP",
    "AH",
    "ICMPV6",
    "OSPF",
    "SCTP",
    "RAW",
)
_FLAGS = ("FIN", "SYN", "RST", "PSH", "ACK", "URG", "ECE", "CWR")

_STRUCTS = """
typedef uint64_t netstackid_t;
typedef struct ifinfo { string if_name; int8_t if_local; netstackid_t if_ipstack; uintptr_t if_addr; } ifinfo_t;
typedef struct ipv4info {
    uint8_t ipv4_ver; uint8_t ipv4_ihl; uint8_t ipv4_tos; uint16_t ipv4_length; uint16_t ipv4_ident; uint8_t ipv4_flags;
    uint16_t ipv4_offset; uint8_t ipv4_ttl; uint8_t ipv4_protocol; string ipv4_protostr; uint16_t ipv4_checksum; ipaddr_t ipv4_src;
    ipaddr_t ipv4_dst; string ipv4_saddr; string ipv4_daddr; struct iphdr *ipv4_hdr;
} ipv4info_t;
typedef struct ipv6info {
    uint8_t ipv6_ver; uint8_t ipv6_tclass; uint32_t ipv6_flow; uint16_t ipv6_plen; uint8_t ipv6_nexthdr; string ipv6_nextstr;
    uint8_t ipv6_hlim; struct in6_addr *ipv6_src; struct in6_addr *ipv6_dst; string ipv6_saddr; string ipv6_daddr;
    struct ipv6hdr *ipv6_hdr;
} ipv6info_t;
typedef struct udpinfo {
    uint16_t udp_sport; uint16_t udp_dport; uint16_t udp_length; uint16_t udp_checksum; struct udphdr *udp_hdr;
} udpinfo_t;
typedef struct udpsinfo {
    uintptr_t udps_addr; uint16_t udps_lport; uint16_t udps_rport; string udps_laddr; string udps_raddr;
} udpsinfo_t;
inline int __ipver[struct iphdr *H] = *(uint8_t *)H >> 4;
inline string __saddr[struct iphdr *H] = __ipver[H] == 6 ? inet_ntoa6((struct in6_addr *)&((struct ipv6hdr *)H)->saddr) :
    inet_ntoa((ipaddr_t *)&H->saddr);
inline string __daddr[struct iphdr *H] = __ipver[H] == 6 ? inet_ntoa6((struct in6_addr *)&((struct ipv6hdr *)H)->daddr) :
    inet_ntoa((ipaddr_t *)&H->daddr);
inline int __whole[struct sock *S] = S != NULL && S->__sk_common.skc_state != 6 && S->__sk_common.skc_state != 12 && S->sk_type == 1;
translator ipinfo_t < struct iphdr *H > {
    ip_ver = __ipver[H];
    ip_plength = __ipver[H] == 6 ? ntohs(((struct ipv6hdr *)H)->payload_len) : ntohs(H->tot_len) - ((*(uint8_t *)H & 15) << 2);
    ip_saddr = __saddr[H]; ip_daddr = __daddr[H];
};
translator ifinfo_t < struct net_device *N > {
    if_name = N == NULL ? "<unknown>" : stringof(N->name); if_local = N == NULL ? 1 : N->flags & 8 ? 1 : 0;
    if_ipstack = N == NULL ? 0 : (uint64_t)N->nd_net.net; if_addr = (uintptr_t)N;
};
translator ipv4info_t < struct iphdr *H > {
    ipv4_ver = H == NULL ? 0 : 4; ipv4_ihl = H == NULL ? 0 : (*(uint8_t *)H & 15) << 2; ipv4_tos = H == NULL ? 0 : H->tos;
    ipv4_length = H == NULL ? 0 : ntohs(H->tot_len); ipv4_ident = H == NULL ? 0 : ntohs(H->id);
    ipv4_flags = H == NULL ? 0 : ntohs(H->frag_off) >> 12; ipv4_offset = H == NULL ? 0 : ntohs(H->frag_off) & 0xfff;
    ipv4_ttl = H == NULL ? 0 : H->ttl; ipv4_protocol = H == NULL ? 0 : H->protocol;
    ipv4_protostr = H == NULL ? "<null>" : __protocol[H->protocol]; ipv4_checksum = H == NULL ? 0 : ntohs(H->check);
    ipv4_src = H == NULL ? 0 : H->saddr; ipv4_dst = H == NULL ? 0 : H->daddr;
    ipv4_saddr = H == NULL ? "<null>" : __saddr[H]; ipv4_daddr = H == NULL ? "<null>" : __daddr[H]; ipv4_hdr = H;
};
translator ipv6info_t < struct ipv6hdr *H > {
    ipv6_ver = H == NULL ? 0 : 6; ipv6_tclass = H == NULL ? 0 : (ntohl(*(uint32_t *)H) & 0xfffffff) >> 20;
    ipv6_flow = H == NULL ? 0 : ntohl(*(uint32_t *)H) & 0xfffff; ipv6_plen = H == NULL ? 0 : ntohs(H->payload_len);
    ipv6_nexthdr = H == NULL ? 0 : H->nexthdr; ipv6_nextstr = H == NULL ? "<null>" : __protocol[H->nexthdr];
    ipv6_hlim = H == NULL ? 0 : H->hop_limit; ipv6_src = H == NULL ? NULL : (struct in6_addr *)&H->saddr;
    ipv6_dst = H == NULL ? NULL : (struct in6_addr *)&H->daddr; ipv6_saddr = H == NULL ? "<null>" : __saddr[(struct iphdr *)H];
    ipv6_daddr = H == NULL ? "<null>" : __daddr[(struct iphdr *)H]; ipv6_hdr = H;
};
translator udpinfo_t < struct udphdr *U > {
    udp_sport = ntohs(U->source); udp_dport = ntohs(U->dest); udp_length = ntohs(U->len); udp_checksum = ntohs(U->check); udp_hdr = U;
};
translator udpsinfo_t < struct udp_sock *S > {
    udps_addr = (uintptr_t)S;
    udps_lport = ntohs(arg5 ? ((struct udphdr *)arg4)->source : ((struct udphdr *)arg4)->dest);
    udps_rport = ntohs(arg5 ? ((struct udphdr *)arg4)->dest : ((struct udphdr *)arg4)->source);
    udps_laddr = arg5 ? __saddr[(struct iphdr *)arg2] : __daddr[(struct iphdr *)arg2];
    udps_raddr = arg5 ? __daddr[(struct iphdr *)arg2] : __saddr[(struct iphdr *)arg2];
};
translator tcpinfo_t < struct tcphdr *G > {
    tcp_sport = ntohs(G->source); tcp_dport = ntohs(G->dest); tcp_seq = ntohl(G->seq); tcp_ack = ntohl(G->ack_seq);
    tcp_offset = (((uint8_t *)G)[12] >> 4) << 2; tcp_flags = ((uint8_t *)G)[13]; tcp_window = ntohs(G->window);
    tcp_checksum = ntohs(G->check); tcp_urgent = ntohs(G->urg_ptr); tcp_hdr = (uintptr_t)G;
};
translator tcpsinfo_t < struct inet_sock *T > {
    tcps_addr = (uintptr_t)T;
    tcps_local = __ipver[(struct iphdr *)arg2] == 4 && ((struct iphdr *)arg2)->saddr == ((struct iphdr *)arg2)->daddr;
    tcps_lport = ntohs(arg6 ? ((struct tcphdr *)arg4)->source : ((struct tcphdr *)arg4)->dest);
    tcps_rport = ntohs(arg6 ? ((struct tcphdr *)arg4)->dest : ((struct tcphdr *)arg4)->source);
    tcps_laddr = arg6 ? __saddr[(struct iphdr *)arg2] : __daddr[(struct iphdr *)arg2];
    tcps_raddr = arg6 ? __daddr[(struct iphdr *)arg2] : __saddr[(struct iphdr *)arg2]; tcps_state = arg5;
"""
_PROVIDERS = """};
provider ip {
    probe send(struct sk_buff *K, struct sock *S, struct iphdr *H, struct net_device *N, struct iphdr *I, struct ipv6hdr *J) :
        (pktinfo_t *K, csinfo_t *S, ipinfo_t *H, ifinfo_t *N, ipv4info_t *I, ipv6info_t *J);
    probe receive(struct sk_buff *K, struct sock *S, struct iphdr *H, struct net_device *N, struct iphdr *I, struct ipv6hdr *J) :
        (pktinfo_t *K, csinfo_t *S, ipinfo_t *H, ifinfo_t *N, ipv4info_t *I, ipv6info_t *J);
};
provider udp {
    probe send(struct sk_buff *K, struct sock *S, struct iphdr *H, struct udp_sock *T, struct udphdr *G) :
        (pktinfo_t *K, csinfo_t *S, ipinfo_t *H, udpsinfo_t *T, udpinfo_t *G);
    probe receive(struct sk_buff *K, struct sock *S, struct iphdr *H, struct udp_sock *T, struct udphdr *G) :
        (pktinfo_t *K, csinfo_t *S, ipinfo_t *H, udpsinfo_t *T, udpinfo_t *G);
};
"""
# Of tcp, for the provider that kernel_probes.py declares.
TCP_ARGUMENTS = (
    "(struct sk_buff *K, struct sock *S, struct iphdr *H, struct inet_sock *T, struct tcphdr *G, int N) : "
    "(pktinfo_t *K, csinfo_t *S, ipinfo_t *H, tcpsinfo_t *T, tcpinfo_t *G, tcplsinfo_t *N)"
)


def library_text(values: dict[str, str]) -> str:
    """values: {member of tcpsinfo_t: its value, an expression of a struct tcp_sock *T} of what a whole socket alone knows."""
    numbers = "".join(
        f"inline int IPPROTO_{name} = {number};\n" for name, number in _PROTOCOLS.items()
    )
    flags = "".join(f"inline int TH_{name} = {1 << bit};\n" for bit, name in enumerate(_FLAGS))
    texts = "".join(
        f'number == {_PROTOCOLS[name]} ? "{_TEXTS.get(name, name)}" : ' for name in _NAMED
    )
    known = "".join(
        f"    {member} = __whole[(struct sock *)T] ? {value.replace('T->', '((struct tcp_sock *)T)->')} : 0;\n"
        for member, value in values.items()
    )
    return f"{numbers}{flags}inline string __protocol[int number] = {texts}lltostr((uint64_t)number);{_STRUCTS}{known}{_PROVIDERS}"
