/*
 * The emulator's probes that a stock OTP can provide, as OTP's erlang_dtrace.d names them.
 *
 * X(constant, name, arguments), where arguments has a letter for each: s a string, u uint32_t, i
 * int, l int64_t, t a term.
 *
 * - Names and the order of arguments are OTP's, except for process-long_*, process-large_heap,
 *   scheduler-queue, dist-queue, *-sample, process-name, ets-*, inet-*, gen_server-*, supervisor-restart and code-load,
 *   which OTP does not have, and for the depth, the values and the caller of functions, BIFs and NIFs behind OTP's arguments.
 * - Probes that a stock emulator cannot provide are missing. docs/reference/erlang-vm.md lists them,
 *   with the reasons.
 */
#ifndef PYUSDT_NIF_VM_PROBES_H
#define PYUSDT_NIF_VM_PROBES_H

/* clang-format off */
#define PYUSDT_VM_PROBES(X) \
    X(PROCESS_SPAWN, "process-spawn", "ss") \
    X(PROCESS_EXIT, "process-exit", "ss") \
    X(PROCESS_EXIT_SIGNAL, "process-exit_signal", "sss") \
    X(PROCESS_EXIT_SIGNAL_REMOTE, "process-exit_signal-remote", "ssssiii") \
    X(PROCESS_SCHEDULED, "process-scheduled", "ss") \
    X(PROCESS_UNSCHEDULED, "process-unscheduled", "s") \
    X(PROCESS_HIBERNATE, "process-hibernate", "ss") \
    X(PROCESS_PORT_UNBLOCKED, "process-port_unblocked", "ss") \
    X(PROCESS_LONG_GC, "process-long_gc", "si") \
    X(PROCESS_LONG_SCHEDULE, "process-long_schedule", "si") \
    X(PROCESS_LARGE_HEAP, "process-large_heap", "sl") \
    X(SCHEDULER_QUEUE, "scheduler-queue", "ii") \
    X(DIST_QUEUE, "dist-queue", "ssll") \
    X(PROCESS_SAMPLE, "process-sample", "sslll") \
    X(PROCESS_NAME, "process-name", "ss") \
    X(NODE_SAMPLE, "node-sample", "slllllll") \
    X(PROCESS_HEAP_GROW, "process-heap_grow", "sii") \
    X(PROCESS_HEAP_SHRINK, "process-heap_shrink", "sii") \
    X(MESSAGE_SEND, "message-send", "ssuiii") \
    X(MESSAGE_SEND_REMOTE, "message-send-remote", "sssuiii") \
    X(MESSAGE_QUEUED, "message-queued", "suuiii") \
    X(GC_MAJOR_START, "gc_major-start", "si") \
    X(GC_MINOR_START, "gc_minor-start", "si") \
    X(GC_MAJOR_END, "gc_major-end", "si") \
    X(GC_MINOR_END, "gc_minor-end", "si") \
    X(PORT_OPEN, "port-open", "sss") \
    X(PORT_COMMAND, "port-command", "ssss") \
    X(PORT_CONTROL, "port-control", "sssi") \
    X(PORT_EXIT, "port-exit", "ssss") \
    X(PORT_CONNECT, "port-connect", "ssss") \
    X(PORT_BUSY, "port-busy", "s") \
    X(PORT_NOT_BUSY, "port-not_busy", "s") \
    X(DRIVER_START, "driver-start", "sss") \
    X(DRIVER_STOP, "driver-stop", "sss") \
    X(DRIVER_OUTPUT, "driver-output", "sssi") \
    X(DRIVER_OUTPUTV, "driver-outputv", "sssi") \
    X(DRIVER_CONTROL, "driver-control", "sssii") \
    X(DRIVER_CALL, "driver-call", "sssii") \
    X(DRIVER_INIT, "driver-init", "siii") \
    X(DRIVER_FINISH, "driver-finish", "s") \
    X(DIST_MONITOR, "dist-monitor", "sssss") \
    X(DIST_PORT_BUSY, "dist-port_busy", "ssss") \
    X(DIST_PORT_NOT_BUSY, "dist-port_not_busy", "sss") \
    X(DIST_OUTPUTV, "dist-outputv", "sssi") \
    X(ETS_ENTRY, "ets-entry", "sss") \
    X(ETS_RETURN, "ets-return", "sssl") \
    X(INET_ENTRY, "inet-entry", "ssssl") \
    X(INET_RETURN, "inet-return", "sssslls") \
    X(GEN_SERVER_CALL_ENTRY, "gen_server-call-entry", "sss") \
    X(GEN_SERVER_CALL_RETURN, "gen_server-call-return", "sssl") \
    X(GEN_SERVER_CAST, "gen_server-cast", "sss") \
    X(GEN_SERVER_HANDLE_ENTRY, "gen_server-handle-entry", "ssssl") \
    X(GEN_SERVER_HANDLE_RETURN, "gen_server-handle-return", "ssssll") \
    X(SUPERVISOR_RESTART, "supervisor-restart", "ssss") \
    X(CODE_LOAD, "code-load", "ssl") \
    X(EFILE_ENTRY, "efile_drv-entry", "iisisslllls") \
    X(EFILE_RETURN, "efile_drv-return", "iisiii") \
    /* from here on: probes that have places */ \
    X(LOCAL_FUNCTION_ENTRY, "local-function-entry", "ssits") \
    X(GLOBAL_FUNCTION_ENTRY, "global-function-entry", "ssits") \
    X(FUNCTION_RETURN, "function-return", "ssits") \
    X(BIF_ENTRY, "bif-entry", "ssits") \
    X(BIF_RETURN, "bif-return", "ssits") \
    X(NIF_ENTRY, "nif-entry", "ssits") \
    X(NIF_RETURN, "nif-return", "ssits")
/* clang-format on */

enum pyusdt_vm_probe {
#define PYUSDT_VM_CONSTANT(constant, name, arguments) PYUSDT_VM_##constant,
    PYUSDT_VM_PROBES(PYUSDT_VM_CONSTANT)
#undef PYUSDT_VM_CONSTANT
        PYUSDT_VM_COUNT
};

#endif
