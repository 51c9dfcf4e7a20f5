/* Which calls of OpenSSL are made, and how long do they take?  pydtrace -qs scripts/system/sslsnoop.d -x file=/lib/x86_64-linux-gnu/libssl.so.3
 * That is where the library is on Debian's x86-64; without it only programs that run already are seen. */
#pragma D option zdefs

BEGIN { printf("%-10s %-8s %-16s %9s %5s %s\n", "TIME(us)", "TID", "COMM", "LAT(us)", "RET", "FUNC"); begun = timestamp; }
pid*:libssl.so:SSL_read:entry, pid*:libssl.so:SSL_write:entry, pid*:libssl.so:SSL_do_handshake:entry { self->began = timestamp; }
pid*:libssl.so:SSL_read:return, pid*:libssl.so:SSL_write:return, pid*:libssl.so:SSL_do_handshake:return
/self->began/
{
	printf("%-10d %-8d %-16s %9d %5d %s\n", (timestamp - begun) / 1000, tid, execname, (timestamp - self->began) / 1000, (int)arg1, probefunc);
	self->began = 0;
}
