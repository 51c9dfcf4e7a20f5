"""`pyusdt ask` and `pyusdt mcp`: typed questions for agents, which change nothing (pydtrace/ask/)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from pydtrace.ask.audit_log import AuditLog
from pydtrace.ask.script_check import Refused
from pydtrace.ask.tools import Door

if TYPE_CHECKING:
    from argparse import Namespace

    from pydtrace.ask.tools import Tool


class NotAnswered(Exception):
    """The message is for the user."""


def open_door(options: Namespace) -> Door:
    try:
        return Door(AuditLog(options.audit), options.allow)
    except OSError as error:
        raise NotAnswered(f"--audit: {options.audit}: {error.strerror}") from None


def answer_question(options: Namespace) -> str:
    """The answer as JSON; without a tool the list of them."""
    door = open_door(options)
    if options.tool is None:
        shown: Any = {
            name: {"description": tool.description, "arguments": tool.to_schema()["properties"]}
            for name, tool in door.tools.items()
        }
    else:
        try:
            tool = door.tools.get(options.tool)
            shown = door.ask(options.tool, _read_arguments(tool, options.arguments))
        except Refused as error:
            raise NotAnswered(error) from None
        except OSError as error:  # what cannot be recorded is not answered
            raise NotAnswered(f"--audit: {error.strerror}") from None
    return json.dumps(shown, indent=None if options.json else 2) + "\n"


def _read_arguments(tool: Tool | None, words: list[str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for word in words:
        name, equals, text = word.partition("=")
        if not equals:
            raise Refused(f"{word} is not NAME=VALUE")
        parameter = tool.parameters.get(name) if tool else None
        is_number = parameter and parameter.kind == "integer" and text.lstrip("-").isdigit()
        found[name] = int(text) if is_number else text
    return found


def serve_protocol(options: Namespace) -> None:
    """pyusdt mcp."""
    from pydtrace.ask.mcp_server import serve_standard_streams

    try:
        serve_standard_streams(open_door(options))
    except ImportError as error:
        if (error.name or "").partition(".")[0] not in ("mcp", "anyio"):
            raise
        raise NotAnswered("pyusdt mcp needs the protocol's SDK: pip install 'pydtrace[mcp]'") from None  # fmt: skip
