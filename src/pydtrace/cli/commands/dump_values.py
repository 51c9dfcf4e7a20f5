"""Values of variables as text, much as Python's repr(), and as JSON.

- Names and texts of the process are escaped for a terminal; JSON escapes control characters.
- "…" is where something was cut, <redacted>, <changed> and the like are where no value is.
"""

from __future__ import annotations

import math

from pydtrace.remote_python import value as values
from pydtrace.remote_python.frame_variables import GONE, LATER, NO_ROOM
from pydtrace.untrusted.terminal_escape import escape_for_terminal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from pydtrace.remote_python.frame_variables import FrameVariables
    from pydtrace.remote_python.value import Value

MARK_TEXTS = {
    GONE: "the function had ended before its variables were read",
    LATER: "its variables may be later than its line: it ran on",
    NO_ROOM: "there was no room for its variables",
}
_BRACKETS = {"list": "[]", "tuple": "()", "set": "{}"}
_DECIMAL_BITS = 13_000  # an int of more is shown in hexadecimal: Python limits the other


# --- text ----------------------------------------------------------------------------------


def format_variables(found: FrameVariables) -> str:
    """A line for each variable that has a value."""
    lines = [
        f"        {escape_for_terminal(each.name)} = {format_value(each.value)}\n"
        for each in found.variables
        if each.value.shape != values.NO_VALUE or each.value.reason != values.UNBOUND
    ]
    if found.more:
        lines.append(f"        (and {found.more} more)\n")
    if found.mark:
        lines.append(f"        ({MARK_TEXTS[found.mark]})\n")
    return "".join(lines)


def format_value(value: Value) -> str:
    if value.shape == values.NO_VALUE:
        return _format_reason(value)
    if value.shape == values.PLAIN:
        return _wrap_base(value, _format_plain(value))
    if value.shape == values.TEXT:
        return _format_text(value)
    if value.shape == values.MAPPING:
        return _wrap_base(value, _format_mapping(value))
    if value.shape == values.SEQUENCE:
        return _format_sequence(value)
    return _format_object(value)


def _name_of(value: Value) -> str:
    return escape_for_terminal(value.type)


def _format_reason(value: Value) -> str:
    if value.reason == values.NO_ROOM:
        return "…"
    kind = f" {_name_of(value)}" if value.reason == values.CIRCULAR else ""
    return f"<{value.reason}{kind}>"


def _format_plain(value: Value) -> str:
    plain = value.plain
    if isinstance(plain, int) and not isinstance(plain, bool):
        if value.cut:
            return f"{plain:#x}… ({value.length} bits)"
        return str(plain) if plain.bit_length() <= _DECIMAL_BITS else f"{plain:#x}"
    text = repr(plain)
    if isinstance(plain, bytes) and "bytearray" in (value.type, value.base):
        text = f"bytearray({text})"
    if value.cut:
        unit = "characters" if isinstance(plain, str) else "bytes"
        text += f"… ({value.length} {unit})"
    return text


def _wrap_base(value: Value, text: str) -> str:
    """With the type's name and its attributes, if the type is not one of Python's own."""
    if value.base is None:
        return text
    return f"{_name_of(value)}({', '.join([text, *_format_attributes(value)])})"


def _format_text(value: Value) -> str:
    text = escape_for_terminal(str(value.plain))
    if value.cut == values.CHARACTERS:
        return f"<{_name_of(value)} of {value.length} digits>"
    if not value.attributes:
        return text
    if value.attributes[0][0] == "value" and text.startswith(f"{_name_of(value)}."):
        return f"<{text}: {format_value(value.attributes[0][1])}>"
    inner = ", ".join(_format_attributes(value))
    return f"{text[:-1]}, {inner})" if text.endswith(")") else f"{text} ({inner})"


def _format_mapping(value: Value) -> str:
    parts = [
        f"{format_value(each[0])}: {format_value(each[1])}"
        for each in value.items
        if isinstance(each, tuple)
    ]
    return f"{{{', '.join(parts + _format_rest(value))}}}"


def _format_rest(value: Value) -> list[str]:
    """What was cut of a container."""
    left = (value.length or 0) - len(value.items)
    return [f"… {left} more" if value.items else f"… {left}"] if left > 0 else []


def _format_sequence(value: Value) -> str:
    parts = [format_value(each) for each in value.items if not isinstance(each, tuple)]
    parts += _format_rest(value)
    kind = value.base or value.type
    if kind == "exception" or kind not in _BRACKETS and kind != "frozenset":
        return f"{_name_of(value)}({', '.join(parts + _format_attributes(value))})"
    if kind == "frozenset" or kind == "set" and not parts:
        inner = f"{{{', '.join(parts)}}}" if parts else ""
        text = f"{kind}({inner})"
    else:
        opening, closing = _BRACKETS[kind][0], _BRACKETS[kind][1]
        comma = "," if kind == "tuple" and len(parts) == 1 else ""
        text = f"{opening}{', '.join(parts)}{comma}{closing}"
    return _wrap_base(value, text)


def _format_attributes(value: Value) -> list[str]:
    parts = [f"{escape_for_terminal(name)}={format_value(each)}" for name, each in value.attributes]
    if value.more:
        return [*parts, "…"]
    if value.shape == values.OBJECT and value.cut == values.DEPTH:
        return [*parts, "…"]
    return parts


def _format_object(value: Value) -> str:
    parts = _format_attributes(value)
    if not parts and not value.length:
        return f"<{_name_of(value)} object>"
    return f"{_name_of(value)}({', '.join(parts)})"


# --- JSON ----------------------------------------------------------------------------------


def encode_variables(found: FrameVariables) -> dict[str, Any]:
    return {
        "variables": [
            {
                "name": each.name,
                "argument": each.is_argument,
                "value": encode_value(each.value),
            }
            for each in found.variables
        ],
        "more_variables": found.more,
        "variables_mark": found.mark,
    }


def encode_value(value: Value) -> Any:
    """None, bool, int, float, str and list as they are where they are whole, all others as an object with their type."""
    if value.shape == values.NO_VALUE:
        return {**({"type": value.type} if value.type else {}), "absent": value.reason}
    made: dict[str, Any] = {"type": value.type}
    if value.base:
        made["base"] = value.base
    if value.shape == values.PLAIN:
        _encode_plain(value, made)
    elif value.shape == values.TEXT and value.cut != values.CHARACTERS:
        made["text"] = value.plain
    elif value.shape == values.SEQUENCE:
        made["items"] = [encode_value(each) for each in value.items if not isinstance(each, tuple)]
    elif value.shape == values.MAPPING:
        made["items"] = [
            [encode_value(part) for part in each] for each in value.items if isinstance(each, tuple)
        ]
    if value.attributes or value.shape == values.OBJECT:
        made["attributes"] = {name: encode_value(each) for name, each in value.attributes}
    if value.cut:
        made["cut"] = value.cut
    if value.length is not None and (value.cut or value.shape == values.OBJECT):
        made["length"] = value.length
    return _simplify(value, made)


def _encode_plain(value: Value, made: dict[str, Any]) -> None:
    plain = value.plain
    if isinstance(plain, bytes):
        made["hex"] = plain.hex()
    elif isinstance(plain, int) and plain.bit_length() > _DECIMAL_BITS:
        made["value"] = hex(plain)
    elif isinstance(plain, float) and not math.isfinite(plain) or isinstance(plain, complex):
        made["value"] = repr(plain)
    elif plain is Ellipsis or plain is NotImplemented:
        made["text"] = repr(plain)
    else:
        made["value"] = plain


def _simplify(value: Value, made: dict[str, Any]) -> Any:
    if value.type == "NoneType" and made.keys() == {"type", "value"}:
        return None
    if made.keys() == {"type", "value"} and value.type == type(made["value"]).__name__:
        return made["value"]
    if made.keys() == {"type", "items"} and value.type == "list":
        return made["items"]
    return made
