/* How long does it take to find the address of a host?  pydtrace -qs scripts/system/gethostlatency.d -x file=/lib/x86_64-linux-gnu/libc.so.6
 * That is where the C library is on Debian's x86-64; without it only programs that run already are seen. */
#pragma D option zdefs

BEGIN { printf("%-20s %-7s %-16s %10s %s\n", "TIME", "PID", "COMM", "LAT(ms)", "HOST"); }
pid*:libc.so:getaddrinfo:entry, pid*:libc.so:gethostbyname:entry, pid*:libc.so:gethostbyname_r:entry, pid*:libc.so:gethostbyname2:entry,
pid*:libc.so:gethostbyname2_r:entry
{
	self->began = timestamp;
	self->host = arg0;
}
pid*:libc.so:getaddrinfo:return, pid*:libc.so:gethostbyname:return, pid*:libc.so:gethostbyname_r:return, pid*:libc.so:gethostbyname2:return,
pid*:libc.so:gethostbyname2_r:return
/self->began/
{
	this->us = (timestamp - self->began) / 1000;
	printf("%Y %-7d %-16s %6d.%03d %s\n", walltimestamp, pid, execname, this->us / 1000, this->us % 1000,
	    self->host ? copyinstr(self->host) : "-");
	self->began = 0;
	self->host = 0;
}
