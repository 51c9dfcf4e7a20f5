/* Events of calls into drivers, and of processes that a busy port suspended (see vm_events.h). */
#include <string.h>

#include "atoms.h"
#include "vm_calls.h"
#include "vm_events.h"

static void fire_not_busy(const struct pyusdt_vm_call *call, unsigned probe, ERL_NIF_TERM port)
{
    struct pyusdt_vm_event event;
    unsigned arg = 0;

    if (!pyusdt_vm_event_begin(&event, call->env, probe))
        return;
    if (probe == PYUSDT_VM_PROCESS_PORT_UNBLOCKED)
        pyusdt_vm_put_local(&event, arg++, call->tracee);
    pyusdt_vm_put_local(&event, arg, port);
    pyusdt_vm_event_offer(&event, probe);
}

static void fire_dist_not_busy(const struct pyusdt_vm_call *call,
                               const struct pyusdt_vm_blocked *blocked)
{
    struct pyusdt_vm_event event;

    if (!pyusdt_vm_event_begin(&event, call->env, PYUSDT_VM_DIST_PORT_NOT_BUSY))
        return;
    pyusdt_vm_put(&event, 0, blocked->here);
    pyusdt_vm_put_local(&event, 1, blocked->port);
    pyusdt_vm_put(&event, 2, blocked->there);
    pyusdt_vm_event_offer(&event, PYUSDT_VM_DIST_PORT_NOT_BUSY);
}

void pyusdt_vm_unblocked(const struct pyusdt_vm_call *call, const struct pyusdt_vm_blocked *blocked)
{
    fire_not_busy(call, PYUSDT_VM_PROCESS_PORT_UNBLOCKED, blocked->port);
    if (blocked->here != pyusdt_atoms.undefined)
        fire_dist_not_busy(call, blocked);
    else
        fire_not_busy(call, PYUSDT_VM_PORT_NOT_BUSY, blocked->port);
}

/* ---- calls: driver-call, driver-init, driver-finish ---- */

/* port_call(Port, Command, Data) */
static void fire_call(const struct pyusdt_vm_call *call, const ERL_NIF_TERM *arguments)
{
    struct pyusdt_vm_port port;
    struct pyusdt_vm_event event;

    if (!enif_is_port(call->env, arguments[0]) ||
        !pyusdt_vm_event_begin(&event, call->env, PYUSDT_VM_DRIVER_CALL))
        return;
    port = pyusdt_vm_find_port(arguments[0]);
    pyusdt_vm_put_local(&event, 0, call->tracee);
    pyusdt_vm_put_local(&event, 1, arguments[0]);
    pyusdt_vm_put_text(&event, 2, port.name);
    pyusdt_vm_put_number(&event, 3, arguments[1]);
    pyusdt_vm_event_offer(&event, PYUSDT_VM_DRIVER_CALL);
}

static void fire_driver(const struct pyusdt_vm_call *call, unsigned probe, ERL_NIF_TERM name)
{
    struct pyusdt_vm_event event;
    char text[PYUSDT_VM_PORT_NAME];

    if (!pyusdt_vm_event_begin(&event, call->env, probe))
        return;
    if (enif_is_atom(call->env, name))
        pyusdt_vm_put(&event, 0, name);
    else if (enif_get_string(call->env, name, text, sizeof text, ERL_NIF_LATIN1) > 0)
        pyusdt_vm_put_text(&event, 0, text);
    pyusdt_vm_event_offer(&event, probe);
}

/* try_load(Path, Name, Options), try_unload(Name, Options): of erl_ddll, the BIFs behind it. */
void pyusdt_vm_driver(const struct pyusdt_vm_call *call)
{
    ERL_NIF_TERM arguments[PYUSDT_VM_ARGUMENTS];
    const ERL_NIF_TERM *mfa = pyusdt_vm_read_arguments(call, arguments);

    if (!mfa)
        return;
    if (mfa[1] == pyusdt_atoms.port_call)
        fire_call(call, arguments);
    else if (arguments[2] != 0)
        fire_driver(call, PYUSDT_VM_DRIVER_INIT, arguments[1]);
    else
        fire_driver(call, PYUSDT_VM_DRIVER_FINISH, arguments[0]);
}
