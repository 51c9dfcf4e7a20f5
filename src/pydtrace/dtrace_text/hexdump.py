"""Bytes as dtrace shows them: of tracemem(), and of keys and strings that are no text."""


def format_hexdump(data: bytes) -> bytes:
    """A table of bytes in hexadecimal and as characters; pyusdt_text_dump() is the same in C."""
    digits = b"0123456789abcdef"
    lines = [
        b"\n" + 11 * b" " + b"".join(b"  %c" % digit for digit in digits) + b"  " + digits + b"\n"
    ]
    for at in range(0, len(data), 16):
        part = data[at : at + 16]
        shown = bytes(byte if 32 <= byte <= 126 else 46 for byte in part)
        line = b"".join(b" %02x" % byte for byte in part)
        lines.append(b"     %5x:%-48b  %b\n" % (at, line, shown))
    return b"".join(lines)
