"""The messages of pprof's files, for the package protobuf.

Source: profile.proto of github.com/google/pprof. Fields that pyusdt neither writes nor reads are
left out; protobuf passes over them.
"""

from __future__ import annotations

import functools
from typing import Any

PACKAGE = "perftools.profiles"
_INT, _UINT, _BOOL, _STRING, _MESSAGE = 3, 4, 8, 9, 11  # FieldDescriptorProto.Type
_OPTIONAL, _REPEATED = 1, 3  # FieldDescriptorProto.Label

# {message: [(number, name, type, is repeated)]}; a type that is a text is a message
_MESSAGES: dict[str, list[tuple[int, str, int | str, bool]]] = {
    "Profile": [
        (1, "sample_type", "ValueType", True),
        (2, "sample", "Sample", True),
        (3, "mapping", "Mapping", True),
        (4, "location", "Location", True),
        (5, "function", "Function", True),
        (6, "string_table", _STRING, True),
        (9, "time_nanos", _INT, False),
        (10, "duration_nanos", _INT, False),
        (11, "period_type", "ValueType", False),
        (12, "period", _INT, False),
        (13, "comment", _INT, True),
        (14, "default_sample_type", _INT, False),
    ],
    "ValueType": [(1, "type", _INT, False), (2, "unit", _INT, False)],
    "Sample": [
        (1, "location_id", _UINT, True),
        (2, "value", _INT, True),
        (3, "label", "Label", True),
    ],
    "Label": [
        (1, "key", _INT, False),
        (2, "str", _INT, False),
        (3, "num", _INT, False),
        (4, "num_unit", _INT, False),
    ],
    "Mapping": [
        (1, "id", _UINT, False),
        (5, "filename", _INT, False),
        (7, "has_functions", _BOOL, False),
        (8, "has_filenames", _BOOL, False),
        (9, "has_line_numbers", _BOOL, False),
    ],
    "Location": [
        (1, "id", _UINT, False),
        (2, "mapping_id", _UINT, False),
        (3, "address", _UINT, False),
        (4, "line", "Line", True),
    ],
    "Line": [(1, "function_id", _UINT, False), (2, "line", _INT, False)],
    "Function": [
        (1, "id", _UINT, False),
        (2, "name", _INT, False),
        (4, "filename", _INT, False),
        (5, "start_line", _INT, False),
    ],
}


class NoProtobuf(Exception):
    """The package protobuf is not there; the message says what to do."""


@functools.cache
def load_profile_message() -> Any:
    """The class of the message Profile.  Raises NoProtobuf."""
    try:
        from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
    except ImportError:
        raise NoProtobuf(
            "files of pprof need the package protobuf: pip install 'pydtrace[pprof]'"
        ) from None
    file = descriptor_pb2.FileDescriptorProto(
        name="pyusdt/pprof.proto", package=PACKAGE, syntax="proto3"
    )
    for name, fields in _MESSAGES.items():
        message = file.message_type.add(name=name)
        for number, field, kind, is_repeated in fields:
            made = message.field.add(
                number=number, name=field, label=_REPEATED if is_repeated else _OPTIONAL
            )
            if isinstance(kind, str):
                made.type, made.type_name = _MESSAGE, f".{PACKAGE}.{kind}"
            else:
                made.type = kind
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{PACKAGE}.Profile"))
