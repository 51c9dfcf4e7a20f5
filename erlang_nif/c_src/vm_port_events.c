/* Events of ports (see vm_events.h). */
#include <string.h>

#include "atoms.h"
#include "vm_events.h"

/* inet's commands of control begin here (its drivers' header of OTP); scripts know them without. */
#define INET_CONTROL 0x03f1a300u

/* A process, its port, the port's name: the beginning of most probes of ports. */
static bool begin_port(struct pyusdt_vm_event *event, const struct pyusdt_vm_call *call,
                       unsigned probe, ERL_NIF_TERM who, const struct pyusdt_vm_port *port)
{
    if (!pyusdt_vm_event_begin(event, call->env, probe))
        return false;
    if (who)
        pyusdt_vm_put_local(event, 0, who);
    pyusdt_vm_put_local(event, 1, port->port);
    pyusdt_vm_put_text(event, 2, port->name);
    return true;
}

/* The same three in another order: driver-start, driver-stop and port-open. */
static void fire_named(const struct pyusdt_vm_call *call, unsigned probe,
                       const struct pyusdt_vm_port *port)
{
    struct pyusdt_vm_event event;

    if (!pyusdt_vm_event_begin(&event, call->env, probe))
        return;
    if (port->owner)
        pyusdt_vm_put_local(&event, 0, port->owner);
    pyusdt_vm_put_text(&event, 1, port->name);
    pyusdt_vm_put_local(&event, 2, port->port);
    pyusdt_vm_event_offer(&event, probe);
}

void pyusdt_vm_open(const struct pyusdt_vm_call *call)
{
    struct pyusdt_vm_port port = {.port = call->tracee, .owner = call->term};
    ERL_NIF_TERM name;

    if (pyusdt_vm_find_option(call, pyusdt_atoms.extra, &name) &&
        enif_get_atom(call->env, name, port.name, sizeof port.name, ERL_NIF_LATIN1) == 0)
        enif_snprintf(port.name, sizeof port.name, "%T", name); /* a long one */
    pyusdt_vm_cache_put(&pyusdt_vm_ports, &port);
    fire_named(call, PYUSDT_VM_PORT_OPEN, &port);
    fire_named(call, PYUSDT_VM_DRIVER_START, &port);
}

void pyusdt_vm_closed(const struct pyusdt_vm_call *call)
{
    const struct pyusdt_vm_port port = pyusdt_vm_find_port(call->tracee);
    struct pyusdt_vm_event event;

    if (begin_port(&event, call, PYUSDT_VM_PORT_EXIT, port.owner, &port)) {
        pyusdt_vm_put(&event, 3, call->term);
        pyusdt_vm_event_offer(&event, PYUSDT_VM_PORT_EXIT);
    }
    fire_named(call, PYUSDT_VM_DRIVER_STOP, &port);
}

/* Drivers of OTP that have no outputv. */
static bool has_output(const struct pyusdt_vm_port *port)
{
    return strncmp(port->name, "udp_inet", 8) == 0 || strncmp(port->name, "sctp_inet", 9) == 0 ||
           strncmp(port->name, "ram_file_drv", 12) == 0;
}

static void fire_port_command(const struct pyusdt_vm_call *call, ERL_NIF_TERM who,
                              const struct pyusdt_vm_port *port, const char *type)
{
    struct pyusdt_vm_event event;

    if (!begin_port(&event, call, PYUSDT_VM_PORT_COMMAND, who, port))
        return;
    pyusdt_vm_put_text(&event, 3, type);
    pyusdt_vm_event_offer(&event, PYUSDT_VM_PORT_COMMAND);
}

static void fire_output(const struct pyusdt_vm_call *call, ERL_NIF_TERM who,
                        const struct pyusdt_vm_port *port, ERL_NIF_TERM data)
{
    unsigned probe = has_output(port) ? PYUSDT_VM_DRIVER_OUTPUT : PYUSDT_VM_DRIVER_OUTPUTV;
    struct pyusdt_vm_event event;

    fire_port_command(call, who, port, "command");
    if (!begin_port(&event, call, probe, who, port))
        return;
    pyusdt_vm_put_bytes(&event, 3, data);
    pyusdt_vm_event_offer(&event, probe);
}

static void fire_connect(const struct pyusdt_vm_call *call, ERL_NIF_TERM who,
                         const struct pyusdt_vm_port *port, ERL_NIF_TERM owner)
{
    struct pyusdt_vm_port now = *port;
    struct pyusdt_vm_event event;

    fire_port_command(call, who, port, "connect");
    now.owner = owner;
    pyusdt_vm_cache_put(&pyusdt_vm_ports, &now);
    if (!begin_port(&event, call, PYUSDT_VM_PORT_CONNECT, who, port))
        return;
    pyusdt_vm_put_receiver(&event, 3, owner);
    pyusdt_vm_event_offer(&event, PYUSDT_VM_PORT_CONNECT);
}

static void fire_control(const struct pyusdt_vm_call *call, ERL_NIF_TERM who,
                         const struct pyusdt_vm_port *port, ERL_NIF_TERM what)
{
    struct pyusdt_vm_event event;
    const ERL_NIF_TERM *parts;
    unsigned number;
    int n;

    if (!enif_get_tuple(call->env, what, &n, &parts) || n != 2 ||
        !enif_get_uint(call->env, parts[0], &number))
        return;
    if ((number & ~0xffu) == INET_CONTROL)
        number &= 0xff;
    if (begin_port(&event, call, PYUSDT_VM_PORT_CONTROL, who, port)) {
        pyusdt_vm_put_integer(&event, 3, number);
        pyusdt_vm_event_offer(&event, PYUSDT_VM_PORT_CONTROL);
    }
    if (begin_port(&event, call, PYUSDT_VM_DRIVER_CONTROL, who, port)) {
        pyusdt_vm_put_integer(&event, 3, number);
        pyusdt_vm_put_bytes(&event, 4, parts[1]);
        pyusdt_vm_event_offer(&event, PYUSDT_VM_DRIVER_CONTROL);
    }
}

/* {Process, close}, {Process, {command | control | connect, What}} */
void pyusdt_vm_port_receive(const struct pyusdt_vm_call *call)
{
    const struct pyusdt_vm_port port = pyusdt_vm_find_port(call->tracee);
    const ERL_NIF_TERM *parts, *what;
    int n;

    if (!enif_get_tuple(call->env, call->term, &n, &parts) || n != 2)
        return;
    if (parts[1] == pyusdt_atoms.close)
        fire_port_command(call, parts[0], &port, "close");
    if (!enif_get_tuple(call->env, parts[1], &n, &what) || n != 2)
        return;
    if (what[0] == pyusdt_atoms.command)
        fire_output(call, parts[0], &port, what[1]);
    else if (what[0] == pyusdt_atoms.connect)
        fire_connect(call, parts[0], &port, what[1]);
    else if (what[0] == pyusdt_atoms.control)
        fire_control(call, parts[0], &port, what[1]);
}
