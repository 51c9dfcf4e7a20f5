"""Offsets in CPython's objects beyond those of c/pystack/cpython_offsets.h: what reading values needs.

- Those of objects are relative to the head that every object begins with, which is 16 bytes, and
  32 in a build without the GIL.
- tests/stacks/test_object_layout.py compares them with the headers of the CPythons that are
  installed.
"""

from __future__ import annotations

OLDEST, NEWEST = 9, 15
_TYPE_KEYS = {9: 848, 10: 856, 11: 856, 12: 864, 13: 864, 14: 864, 15: 872}
_FREE_THREADED = 13  # the newest version of which a build without the GIL was compared
_HEAD, _HEAD_WITHOUT_GIL = 16, 32


class ObjectLayout:
    """The offsets of a version.  layout: RemotePython's.

    Offsets in a frame are absolute: from 3.11 on it is no object."""

    __slots__ = (
        "bytearray_start",
        "cell_value",
        "code_argcount",
        "code_cells",
        "code_consts",
        "code_flags",
        "code_free",
        "code_kinds",
        "code_kwonlyargcount",
        "code_names",
        "exception_args",
        "exception_dict",
        "frame_globals",
        "frame_locals",
        "frame_mapping",
        "function_closure",
        "function_code",
        "function_globals",
        "function_qualname",
        "has_tagged_values",
        "head",
        "int_digits",
        "int_size",
        "is_free_threaded",
        "list_items",
        "minor",
        "set_used",
        "text_data",
        "tuple_items",
        "type_base",
        "type_basicsize",
        "type_dict",
        "type_dictoffset",
        "type_flags",
        "type_itemsize",
        "type_keys",
        "type_members",
        "type_mro",
        "type_name",
    )

    def __init__(self, layout: dict[str, int]) -> None:
        self.minor = minor = layout["minor"]
        self.head = head = layout["object_type"] + 8
        self.is_free_threaded = head != _HEAD
        self.has_tagged_values = minor >= 14
        self._place_code(minor, head)
        self._place_frame(minor, layout["frame_locals"])
        self._place_type(minor, head)
        self.int_size, self.int_digits = head, head + 8
        self.list_items = head + 8
        self.tuple_items = head + (16 if minor >= 14 else 8)  # from 3.14 on a tuple keeps its hash
        self.set_used = head + 8
        self.bytearray_start = head + 24
        self.cell_value = head
        self.exception_dict, self.exception_args = head, head + 8
        self._place_function(minor, head)
        self.text_data = layout["unicode_data"]

    @property
    def is_known(self) -> bool:
        """Whether the offsets were compared with this version's headers."""
        newest = _FREE_THREADED if self.is_free_threaded else NEWEST
        return OLDEST <= self.minor <= newest and self.head in (_HEAD, _HEAD_WITHOUT_GIL)

    def _place_code(self, minor: int, head: int) -> None:
        self.code_free = self.code_cells = self.code_kinds = 0
        if minor <= 10:
            self.code_argcount, self.code_kwonlyargcount, self.code_flags = (
                head,
                head + 8,
                head + 20,
            )
            self.code_names, self.code_free, self.code_cells = head + 56, head + 64, head + 72
            self.code_consts = head + 40
            return
        shift = 4 if minor == 11 else 0
        self.code_flags = head + 32
        self.code_argcount = head + 36 + shift
        self.code_kwonlyargcount = head + 44 + shift
        self.code_names, self.code_kinds = head + 80, head + 88
        self.code_consts = head + 8

    def _place_function(self, minor: int, head: int) -> None:
        if minor == 9:
            self.function_code, self.function_globals = head, head + 8
            self.function_closure, self.function_qualname = head + 32, head + 88
            return
        self.function_globals, self.function_qualname = head, head + 24
        self.function_code, self.function_closure = head + 32, head + 56

    def _place_frame(self, minor: int, frame_locals: int) -> None:
        """Where a frame has its globals, the mapping of its names (a class's body, exec()), its variables."""
        if minor <= 10:
            self.frame_globals, self.frame_mapping = 48, 56
            self.frame_locals = 360 if minor == 9 else 352
            return
        self.frame_globals, self.frame_mapping = (8, 24) if minor == 11 else (24, 40)
        self.frame_locals = frame_locals

    def _place_type(self, minor: int, head: int) -> None:
        self.type_name = head + 8
        self.type_basicsize, self.type_itemsize = head + 16, head + 24
        self.type_flags = head + 152
        self.type_members = head + 224
        self.type_base, self.type_dict = head + 240, head + 248
        self.type_dictoffset = head + 272
        self.type_mro = head + 328
        self.type_keys = head + _TYPE_KEYS.get(minor, 0)
