"""Keys of the interpreter's hash maps that end in zeros, as strings do: each is its own, whatever the others begin with."""

import pytest

from pydtrace import _tracer
from pydtrace.bpf.map_kinds import KINDS


def keys_of(size):
    """All lengths of tails, of zeros before, of common beginnings; nothing but zeros."""
    found = {
        bytes(n) + middle
        for middle in (b"", b"a", b"aa", b"a\0b", b"\xff" * 9)
        for n in range(size)
    }
    found |= {b"a" * n for n in range(size + 1)} | {b"a\0\0\0\0\0\0\0" * n + b"b" for n in range(5)}
    return sorted({key.ljust(size, b"\0") for key in found if len(key) <= size})


@pytest.mark.parametrize("size", [*range(1, 42), 63, 64, 65, 72, 100, 256, 257])
def test_keys_that_begin_alike(size):
    keys = keys_of(size)
    assert len(keys) > size
    vm = _tracer.VM([(KINDS["hash"].number, size, 8, len(keys))])
    for add in (1, 0):  # the second time each is found
        for number, key in enumerate(keys):
            vm.update(0, key, (number + add).to_bytes(8, "little"))
    assert {key: int.from_bytes(value, "little") for key, value in vm.items(0)} == {
        key: n for n, key in enumerate(keys)
    }
    for key in keys[1::2]:
        vm.delete(0, key)
    assert sorted(key for key, _ in vm.items(0)) == keys[::2]
