"""What is read of another process's dicts, tuples and tasks, compared with what is there: this process is the other one."""

from __future__ import annotations

import gc
import os
import random
import types
import weakref

import pytest

from pydtrace.remote_python.code_objects import CodeObjects
from pydtrace.remote_python.remote_objects import RemoteObjects
from pydtrace.remote_python.remote_python import RemotePython


class Thing:
    """An object that weak references lead to."""


@pytest.fixture(scope="module")
def objects():
    python = RemotePython(os.getpid())
    return RemoteObjects(python, CodeObjects(python))


@pytest.mark.parametrize("size", [0, 1, 5, 200, 70_000])
def test_numbers_are_found_as_a_dict_finds_them(objects, size):
    """Addresses, many of which are gone again; what is no key is not found."""
    chance = random.Random(size)
    numbers = chance.sample(range(1, 1 << 40), 2 * size)
    there = {number * 16: object() for number in numbers[:size]}
    for number in list(there)[: size // 3]:
        del there[number]
    for number in chance.sample(list(there), min(len(there), 300)):
        assert objects.find_int_key(id(there), number) == id(there[number])
    for number in numbers[size:][:300]:
        assert objects.find_int_key(id(there), number * 16) == 0
    assert objects.read_dict_size(id(there)) == len(there)


def test_a_dict_of_texts_has_no_numbers(objects):
    assert objects.find_int_key(id({"a": 1}), 5) == 0


def test_a_row_is_found_by_its_key_itself(objects):
    keys = [Thing() for _ in range(20)]
    there = {key: number for number, key in enumerate(keys)}
    _, row, value = objects.find_dict_entry(id(there), id(keys[7]))
    assert value == id(7) and objects.word(row) == id(keys[7])
    with pytest.raises(LookupError):
        objects.find_dict_entry(id(there), id(there))


def test_tuples_types_and_weak_references(objects):
    class Derived(Thing):
        pass

    thing = Derived()
    pair = (thing, weakref.ref(thing))
    assert objects.read_pair(id(pair)) == (id(pair[0]), id(pair[1]))
    assert objects.read_weakref(id(pair[1])) == id(thing)
    assert objects.is_instance(id(thing), "Thing") and not objects.is_instance(id(thing), "dict")
    gc.collect()


def test_what_is_no_object_ends(objects):
    """Whatever lies at an address: an answer, or one of the errors that are told, and soon."""
    junk = bytearray(os.urandom(1 << 16))
    place = id(junk) + 64  # of the object, and what lies behind it
    chance = random.Random(1)
    for _ in range(300):
        address = place + 8 * chance.randrange(64)
        for look in (
            lambda at: objects.find_int_key(at, 1 << 20),
            lambda at: objects.is_instance(at, "x"),
            objects.read_pair,
            objects.read_weakref,
        ):
            try:
                look(address)
            except (OSError, LookupError, ValueError):
                pass


def test_the_proxy_leads_to_its_dict(objects):
    there = {1: 2}
    proxy = types.MappingProxyType(there)
    assert objects.word(id(proxy) + 16) == id(there)
