/*
 * Values of socket calls: of prim_inet, whose sockets are ports, and of prim_socket's NIFs (see
 * vm_calls.h).
 *
 * - The peer of a port is known from its connect, or from the controlling process, which asks for
 *   it.
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "atoms.h"
#include "vm_calls.h"
#include "vm_cache.h"

/* arguments: s the socket, d data, i and p the peer's address and port, a both of them, - others */
static const struct {
    const char *name, *arguments;
} calls[] = {
    {"connect", "sip"}, {"send", "sd"},      {"sendto", "sa-d"},    {"nif_connect", "s-a"},
    {"nif_send", "sd"}, {"nif_sendv", "sd"}, {"nif_sendto", "sda"},
};

enum { CALLS = sizeof calls / sizeof calls[0], MOST_BYTES = 16 };

static ERL_NIF_TERM names[CALLS];

bool pyusdt_vm_inet_load(ErlNifEnv *env)
{
    for (unsigned i = 0; i < CALLS; i++)
        names[i] = enif_make_atom(env, calls[i].name);
    return pyusdt_vm_cache_load(&pyusdt_vm_peers);
}

/* ---- addresses ---- */

/* {A, B, C, D}, or the eight numbers of two bytes of IPv6. 0: neither. */
static int read_ip(ErlNifEnv *env, ERL_NIF_TERM ip, unsigned char bytes[MOST_BYTES])
{
    const ERL_NIF_TERM *parts;
    unsigned part;
    int n;

    if (!enif_get_tuple(env, ip, &n, &parts) || (n != 4 && n != 8))
        return 0;
    for (int i = 0; i < n; i++) {
        if (!enif_get_uint(env, parts[i], &part))
            return 0;
        if (n == 4)
            bytes[i] = (unsigned char)part;
        else
            bytes[2 * i] = (unsigned char)(part >> 8), bytes[2 * i + 1] = (unsigned char)part;
    }
    return n == 4 ? AF_INET : AF_INET6;
}

bool pyusdt_vm_inet_address(ErlNifEnv *env, ERL_NIF_TERM ip, ERL_NIF_TERM port,
                            char peer[PYUSDT_VM_PEER])
{
    unsigned char bytes[MOST_BYTES];
    char text[INET6_ADDRSTRLEN];
    int family = read_ip(env, ip, bytes);
    unsigned number;

    peer[0] = '\0';
    if (family == 0 || !enif_get_uint(env, port, &number) ||
        !inet_ntop(family, bytes, text, sizeof text))
        return false;
    snprintf(peer, PYUSDT_VM_PEER, family == AF_INET6 ? "[%s]:%u" : "%s:%u", text, number);
    return true;
}

/* {Ip, Port} of prim_inet (newer ones say {inet, {Ip, Port}}), or a map of socket. */
static void read_address(ErlNifEnv *env, ERL_NIF_TERM address, char peer[PYUSDT_VM_PEER])
{
    const ERL_NIF_TERM *parts;
    ERL_NIF_TERM ip, port;
    int n;

    if (enif_get_tuple(env, address, &n, &parts) && n == 2) {
        if (!pyusdt_vm_inet_address(env, parts[0], parts[1], peer) && enif_is_atom(env, parts[0]) &&
            enif_is_tuple(env, parts[1]))
            read_address(env, parts[1], peer);
    } else if (enif_get_map_value(env, address, pyusdt_atoms.addr, &ip) &&
               enif_get_map_value(env, address, pyusdt_atoms.port, &port))
        pyusdt_vm_inet_address(env, ip, port, peer);
}

/* ---- calls ---- */

static const char *find_kinds(ERL_NIF_TERM function)
{
    for (unsigned i = 0; i < CALLS; i++)
        if (names[i] == function)
            return calls[i].arguments;
    return "s";
}

static void cache_peer(ErlNifEnv *env, ERL_NIF_TERM socket, const char peer[PYUSDT_VM_PEER])
{
    struct pyusdt_vm_peer kept = {.port = socket};

    if (!enif_is_port(env, socket) || !peer[0])
        return;
    memcpy(kept.peer, peer, sizeof kept.peer);
    pyusdt_vm_cache_put(&pyusdt_vm_peers, &kept);
}

static void find_peer(ErlNifEnv *env, ERL_NIF_TERM socket, char peer[PYUSDT_VM_PEER])
{
    struct pyusdt_vm_peer kept;

    if (!peer[0] && enif_is_port(env, socket) &&
        pyusdt_vm_cache_find(&pyusdt_vm_peers, socket, &kept))
        memcpy(peer, kept.peer, sizeof kept.peer);
}

void pyusdt_vm_inet_read(const struct pyusdt_vm_call *call, struct pyusdt_vm_open_call *now)
{
    ERL_NIF_TERM arguments[PYUSDT_VM_ARGUMENTS];
    const ERL_NIF_TERM *mfa = pyusdt_vm_read_arguments(call, arguments);
    const char *kinds = mfa ? find_kinds(mfa[1]) : "";

    for (unsigned i = 0; kinds[i] && arguments[i] != 0; i++)
        switch (kinds[i]) {
        case 's':
            pyusdt_vm_write_term(call->env, arguments[i], now->subject, sizeof now->subject);
            break;
        case 'd':
            now->number = pyusdt_vm_count_bytes(call->env, arguments[i]);
            break;
        case 'a':
            read_address(call->env, arguments[i], now->peer);
            break;
        case 'i':
            pyusdt_vm_inet_address(call->env, arguments[i], arguments[i + 1], now->peer);
            break;
        default:
            break;
        }
    if (mfa && mfa[1] == names[0])
        cache_peer(call->env, arguments[0], now->peer);
    find_peer(call->env, arguments[0], now->peer);
}

/* ---- returns ---- */

/* The parts of {ok, Result}: data; or its sender and data, as {Address, Data} or {Ip, Port, Data}
 * (and any further parts). */
static void read_received(ErlNifEnv *env, ERL_NIF_TERM result, struct pyusdt_vm_open_call *then)
{
    const ERL_NIF_TERM *parts;
    int n;

    if (enif_is_binary(env, result) || enif_is_list(env, result))
        then->number = pyusdt_vm_count_bytes(env, result);
    else if (enif_get_tuple(env, result, &n, &parts) && n == 2) {
        read_address(env, parts[0], then->peer);
        then->number = pyusdt_vm_count_bytes(env, parts[1]);
    } else if (enif_get_tuple(env, result, &n, &parts) && n >= 3) {
        pyusdt_vm_inet_address(env, parts[0], parts[1], then->peer);
        then->number = pyusdt_vm_count_bytes(env, parts[n - 1]);
    }
}

/* ok, {ok, Result}, {error, Reason}; of prim_socket's also `select`, {select, …}: it would have
 * waited. */
const char *pyusdt_vm_inet_end(const struct pyusdt_vm_call *call, struct pyusdt_vm_open_call *then)
{
    static _Thread_local char error[64];
    ERL_NIF_TERM result;
    const ERL_NIF_TERM *parts;
    int n;

    if (!pyusdt_vm_find_option(call, pyusdt_atoms.extra, &result) || result == pyusdt_atoms.ok)
        return "";
    if (!enif_get_tuple(call->env, result, &n, &parts) || n < 2)
        pyusdt_vm_write_term(call->env, result, error, sizeof error);
    else if (parts[0] == pyusdt_atoms.ok) {
        read_received(call->env, parts[1], then);
        return "";
    } else
        pyusdt_vm_write_term(call->env, parts[0] == pyusdt_atoms.error ? parts[1] : parts[0], error,
                             sizeof error);
    return error;
}
