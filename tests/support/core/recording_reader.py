"""A second reader of recordings, made from docs/internals/recording-format.md alone: what that page says must be enough.

Input: the bytes of a recording.
Output: its events as lines, as replay_main.c prints them.
"""

import struct

HEADER = struct.Struct("<QIIQQIIII64s16x")
TABLE, TARGET, EVENT, LOSS, END, PLACE, PATHS = 1, 2, 3, 4, 5, 6, 7


def text(strings, at):
    return strings[at : strings.index(b"\0", at)].decode()


class Table:
    """[(provider, module, function, name)] of a probe table block."""

    def __init__(self, body):
        _, _, ndescs, size = struct.unpack_from("<4I", body)
        strings = body[16 + 36 * ndescs :][:size]
        self.probes = []
        for i in range(ndescs):
            provider, module, function, name, count, _, _, kind, _ = struct.unpack_from(
                "<9I", body, 16 + 36 * i
            )
            for n in range(count):
                number = str(n) if kind == 1 else ""
                self.probes.append(
                    (
                        text(strings, provider),
                        text(strings, module),
                        text(strings, function) + number,
                        text(strings, name) + number,
                    )
                )


def place_names(body):
    """(module, function) of a place block."""
    module, function = struct.unpack_from("<2H", body, 12)
    return body[20 : 20 + module].decode(), body[20 + module : 20 + module + function].decode()


def event_line(body, targets, tables, places):
    target, _, _, word, time, tid, _, has = struct.unpack_from("<4IQIHH", body)
    nargs, ncaptures = (has % 4096).bit_count(), has // 4096
    at = 8 + 24
    words = [*struct.unpack_from(f"<{nargs}Q", body, at)]
    at += 8 * nargs
    for _ in range(ncaptures):
        index, length = struct.unpack_from("<HH", body, at)
        words.append(f"{index}={body[at + 4 : at + 4 + length].decode()}")
        at += (4 + length + 1 + 3) // 4 * 4
    table, pid, inner, comm = targets[target]
    provider, module, function, name = tables[table].probes[word % 4096]
    if word >= 4096:
        module, function = places[target, word // 4096]
    return " ".join(
        map(str, [time, pid, comm, f"{provider}{inner}:{module}:{function}:{name}", tid, *words])
    )


def lines(data):
    magic, version, order, *_ = HEADER.unpack_from(data)
    assert (magic.to_bytes(8, "little"), version, order) == (b"pyusdtR1", 5, 0x01020304)
    tables, targets, places, found, at = [], {}, {}, [], HEADER.size
    while True:
        kind, size = struct.unpack_from("<II", data, at)
        body = data[at + 8 : at + 8 + size]
        at += 8 + size
        if kind == TABLE:
            assert struct.unpack_from("<I", body)[0] == len(tables)
            tables.append(Table(body))
        elif kind == TARGET:
            number, table, pid, inner, _, _, comm, _ = struct.unpack("<6I16s64s", body)
            targets[number] = table, pid, inner, comm.rstrip(b"\0").decode()
        elif kind == EVENT:
            found.append(event_line(body, targets, tables, places))
        elif kind == PLACE:
            places[struct.unpack_from("<II", body)] = place_names(body)
        elif kind == PATHS:
            assert at == HEADER.size + 8 + size and size >= 8 + struct.unpack_from("<I", body)[0]
        elif kind == END:
            assert at == len(data)
            return [*found, str(struct.unpack("<Q", body)[0])]
        else:
            assert kind == LOSS and size == 16
