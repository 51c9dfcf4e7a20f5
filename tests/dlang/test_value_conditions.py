"""Predicates that the traced process decides, before an event is written."""

from __future__ import annotations

import struct

import pytest

from tests.support.compiler.value_scripts import ENTRY, RETURN, compiled


def decided(text: str, **options: object) -> list[str]:
    return compiled(text, **options).decided_in_target


@pytest.mark.parametrize(
    ("predicate", "conditions"),
    [
        ("local.x > 100", ["local.x > 100"]),
        ("100 < local.x", ["local.x > 100"]),
        ("local.x >= -5", ["local.x >= -5"]),
        ("local.x > 2.5", ["local.x > 2.5"]),
        ("-0.5 >= local.x", ["local.x <= -0.5"]),
        ("length(local.x) > 2.5", []),
        ("local.x == 9007199254740992", ["local.x == 9007199254740992"]),
        ('local.x.name == "a"', ['local.x.name == "a"']),
        ('typename(local.x) != "int"', ['typename(local.x) != "int"']),
        ("length(local.x) <= 3", ["length(local.x) <= 3"]),
        ("present(local.x)", ["present(local.x)"]),
        ("!present(local.x)", ["!present(local.x)"]),
        ("local.x", ["local.x"]),
        ("local.x > 1 && local.y < 2", ["local.x > 1 && local.y < 2"]),
        ("local.x > 1 || local.y < 2", ["local.x > 1", "local.y < 2"]),
        (
            "local.x > 1 && (local.y == 2 || local.y == 3)",
            ["local.x > 1 && local.y == 2", "local.x > 1 && local.y == 3"],
        ),
        ("local.x > 1 && pid > 3", ["local.x > 1"]),
        ("local.x > 1 && arg2 == 7", ["local.x > 1 && arg2 == 7"]),
        ("local.x > 1 && arg3 == 0", ["local.x > 1 && arg3 == 0"]),
        ("local.x > 1 || pid > 3", []),
        ("local.x + 1 > 100", []),
        ("local.x > local.y", []),
        ("local.x > 5u", ["local.x > 5"]),
        ("local.x > 5ul", []),  # D compares these as unsigned
        ("local.x > 0x8000000000000000", []),
        ('local.x < "a"', []),
        (f'local.x == "{"a" * 70}"', []),
        ("strlen(local.x) > 3", []),
    ],
)
def test_what_is_decided(predicate, conditions):
    assert decided(f"{ENTRY} /{predicate}/ {{ }}") == conditions


def test_a_clause_without_conditions_wants_all_events_of_its_probe():
    one = f"{ENTRY} /local.x > 100/ {{ }}"
    assert decided(f"{one} {ENTRY} {{ }}") == []
    assert decided(f"{one} {ENTRY} /pid > 3/ {{ }}") == []
    assert decided(f"{one} python$target:::function-* {{ }}") == []
    assert decided(f"{one} *:::entry, ::: {{ }}") == []
    assert decided(f"{one} {RETURN} {{ }}") == ["local.x > 100"]
    assert decided(f"{one} BEGIN, tick-1s, syscall:::entry {{ }}") == ["local.x > 100"]
    assert decided(f"{one} {RETURN} /retval == 3/ {{ }}") == ["local.x > 100", "retval == 3"]


def test_a_string_that_could_be_compared_truncated_is_not_decided():
    predicate = f'{ENTRY} /local.x == "seven77"/ {{ }}'
    assert decided(predicate, strsize="9") and not decided(predicate, strsize="8")


def test_the_form_of_the_bytes():
    made = compiled(f'{ENTRY} /local.x > 100 && local.y == "ab"/ {{ }}')
    size, version, root, rows, _, _, _, probes = struct.unpack_from("=IBBBBHHI", made.conditions)
    assert (size, version, root, rows, probes) == (len(made.conditions), 1, 4, 2, 1)
    assert [struct.unpack_from("=BBBBBxHH6xq", made.conditions, 16 + 24 * i) for i in (0, 1)] == [
        (0, 1, 0, 5, 2, 0, 0, struct.unpack("=q", struct.pack("=d", 100))[0]),
        (0, 1, 1, 1, 1, 0, 2, 0),
    ]
    assert made.conditions[64:] == b"ab"


def test_too_many_conditions_are_none():
    predicate = " || ".join(f"local.x == {number}" for number in range(17))
    assert decided(f"{ENTRY} /{predicate}/ {{ }}") == []


LINE = "python$target::f:line"


@pytest.mark.parametrize(
    ("text", "conditions"),
    [
        (f"{LINE} /arg2 == 7/ {{ }}", ["arg2 == 7"]),
        (f"{LINE} /arg2 > 7 && pid/ {{ }}", ["arg2 > 7"]),
        (f"{LINE} /arg2 == 7/ {{ }} {LINE} /arg2 == 8/ {{ }}", ["arg2 == 7", "arg2 == 8"]),
        (f"{LINE} /arg2 == 7/ {{ }} {LINE} {{ }}", []),
        (f"{LINE} /arg2 == 7/ {{ }} {ENTRY} /arg3 == 0/ {{ }}", ["arg2 == 7"]),
        (f"{ENTRY} /arg3 == 0/ {{ }}", []),  # without values there is nothing to decide it with
        ("pyusdt12:::line /arg2 == 7/ { }", []),
    ],
)
def test_lines_are_decided_without_values(text, conditions):
    program = compiled(text)
    assert (program.paths, program.decided_in_target) == ([], conditions)
    assert bool(program.conditions) == bool(conditions)
