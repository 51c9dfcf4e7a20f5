/* Which privileges (capabilities) are asked for, and are they there?  pydtrace -qs scripts/system/capable.d   (Linux 6.14) */
inline string capability[int n] =
    n == 0 ? "CAP_CHOWN" : n == 1 ? "CAP_DAC_OVERRIDE" : n == 2 ? "CAP_DAC_READ_SEARCH" : n == 3 ? "CAP_FOWNER" :
    n == 4 ? "CAP_FSETID" : n == 5 ? "CAP_KILL" : n == 6 ? "CAP_SETGID" : n == 7 ? "CAP_SETUID" : n == 8 ? "CAP_SETPCAP" :
    n == 9 ? "CAP_LINUX_IMMUTABLE" : n == 10 ? "CAP_NET_BIND_SERVICE" : n == 11 ? "CAP_NET_BROADCAST" :
    n == 12 ? "CAP_NET_ADMIN" : n == 13 ? "CAP_NET_RAW" : n == 14 ? "CAP_IPC_LOCK" : n == 15 ? "CAP_IPC_OWNER" :
    n == 16 ? "CAP_SYS_MODULE" : n == 17 ? "CAP_SYS_RAWIO" : n == 18 ? "CAP_SYS_CHROOT" : n == 19 ? "CAP_SYS_PTRACE" :
    n == 20 ? "CAP_SYS_PACCT" : n == 21 ? "CAP_SYS_ADMIN" : n == 22 ? "CAP_SYS_BOOT" : n == 23 ? "CAP_SYS_NICE" :
    n == 24 ? "CAP_SYS_RESOURCE" : n == 25 ? "CAP_SYS_TIME" : n == 26 ? "CAP_SYS_TTY_CONFIG" : n == 27 ? "CAP_MKNOD" :
    n == 28 ? "CAP_LEASE" : n == 29 ? "CAP_AUDIT_WRITE" : n == 30 ? "CAP_AUDIT_CONTROL" : n == 31 ? "CAP_SETFCAP" :
    n == 32 ? "CAP_MAC_OVERRIDE" : n == 33 ? "CAP_MAC_ADMIN" : n == 34 ? "CAP_SYSLOG" : n == 35 ? "CAP_WAKE_ALARM" :
    n == 36 ? "CAP_BLOCK_SUSPEND" : n == 37 ? "CAP_AUDIT_READ" : n == 38 ? "CAP_PERFMON" : n == 39 ? "CAP_BPF" :
    n == 40 ? "CAP_CHECKPOINT_RESTORE" : "?";

BEGIN { printf("%-20s %-6s %-7s %-16s %-4s %-22s %s\n", "TIME", "UID", "PID", "COMM", "CAP", "NAME", "ERR"); }
rawtp:capability::cap_capable
{
	printf("%Y %-6d %-7d %-16s %-4d %-22s %d\n", walltimestamp, uid, pid, execname, (int)arg3, capability[(int)arg3], -(int)arg4);
}
