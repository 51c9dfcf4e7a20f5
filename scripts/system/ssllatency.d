/* How long do calls of OpenSSL take?  pydtrace -qs scripts/system/ssllatency.d -x file=/lib/x86_64-linux-gnu/libssl.so.3   (until Ctrl-C)
 * That is where the library is on Debian's x86-64; without it only programs that run already are seen. */
#pragma D option zdefs

pid*:libssl.so:SSL_read:entry, pid*:libssl.so:SSL_write:entry, pid*:libssl.so:SSL_do_handshake:entry { self->began = timestamp; }
pid*:libssl.so:SSL_read:return, pid*:libssl.so:SSL_write:return, pid*:libssl.so:SSL_do_handshake:return
/self->began/
{
	@us[probefunc, (int)arg1 > 0 ? "microseconds" : "microseconds of those that failed"] = quantize((timestamp - self->began) / 1000);
	self->began = 0;
}
