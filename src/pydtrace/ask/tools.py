"""The questions that an agent may ask, each a Tool: its parameters with types and bounds, its answer plain data.

- Nothing here changes a program: no tool starts a command or writes a file, scripts are checked
  (script_check.py), and pydtrace runs without -w.
- What changes a program, or shows its data, is a tool only if the person who starts the server has
  allowed it.
- An answer is small. "cut" says what it leaves out.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from pydtrace.installed_scripts import script_names, script_text
from pydtrace.watch_script import make_script, parse_function

from . import answers
from .run_command import run_command
from .script_check import MAX_SCRIPT, Refused, check_script, refuse_values

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from .audit_log import AuditLog

    Answer = dict[str, Any]

MAX_SECONDS = 60
_MAX_CPU = "50"  # % of a processor, that a tracer may take
_QUICK = 30.0  # s for what does not trace


class Parameter:
    """kind: "integer" or "string"; low, high: bounds of a number, or of the length of a text; default: None if it has to be given."""

    __slots__ = ("default", "description", "high", "kind", "low")

    def __init__(
        self, kind: str, description: str, low: int, high: int, default: int | str | None = None
    ) -> None:
        self.kind, self.description, self.default = kind, description, default
        self.low, self.high = low, high

    def to_schema(self) -> Answer:
        bounds = ("minimum", "maximum") if self.kind == "integer" else ("minLength", "maxLength")
        found = {
            "type": self.kind,
            "description": self.description,
            bounds[0]: self.low,
            bounds[1]: self.high,
        }
        return found if self.default is None else {**found, "default": self.default}

    def check_value(self, name: str, value: Any) -> Any:
        if self.kind == "integer":
            if not isinstance(value, int) or isinstance(value, bool):
                raise Refused(f"{name} has to be an integer")
            size = value
        else:
            if not isinstance(value, str) or "\0" in value:
                raise Refused(f"{name} has to be a text")
            size = len(value)
        if not self.low <= size <= self.high:
            raise Refused(f"{name} has to be from {self.low} to {self.high}")
        return value


class Tool:
    """permission: what the person who starts the server has to allow, "" for nothing; attaches: whether its answer takes may_attach;
    runs_script: its argument `script` is D."""

    __slots__ = (
        "answer",
        "attaches",
        "description",
        "name",
        "parameters",
        "permission",
        "runs_script",
    )

    def __init__(
        self,
        name: str,
        description: str,
        parameters: dict[str, Parameter],
        answer: Callable[..., Answer],
        permission: str = "",
        attaches: bool = False,
    ) -> None:
        self.name, self.description, self.parameters = name, description, parameters
        self.answer, self.permission, self.attaches = answer, permission, attaches
        self.runs_script = "script" in parameters

    def to_schema(self) -> Answer:
        """The JSON schema of its arguments."""
        return {
            "type": "object",
            "properties": {name: each.to_schema() for name, each in self.parameters.items()},
            "required": [name for name, each in self.parameters.items() if each.default is None],
            "additionalProperties": False,
        }

    def check_arguments(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """All arguments with their defaults.  Refused."""
        if unknown := set(arguments) - set(self.parameters):
            raise Refused(f"{self.name} has no argument {', '.join(sorted(unknown))[:200]}")
        found = {}
        for name, parameter in self.parameters.items():
            value = arguments.get(name, parameter.default)
            if value is None:
                raise Refused(f"{self.name} needs {name}: {parameter.description}")
            found[name] = parameter.check_value(name, value)
        return found


class Door:
    """The tools that are allowed, audited.  allowed: of ask.PERMISSIONS."""

    def __init__(self, audit: AuditLog, allowed: Iterable[str] = ()) -> None:
        self._audit, granted = audit, {"", *allowed}
        self._shows_values, self._may_attach = "values" in granted, "attach" in granted
        self.tools = {tool.name: tool for tool in TOOLS if tool.permission in granted}

    def ask(self, name: str, arguments: dict[str, Any]) -> Answer:
        """The answer of a tool.  Refused: with the reason."""
        call, began = self._audit.begin_call(name, arguments), time.monotonic()
        refusal: str | None = "failed"
        try:
            if name not in self.tools:
                needed = next((tool.permission for tool in TOOLS if tool.name == name), "")
                raise Refused(
                    f"{name} has to be allowed by the person who started this: --allow {needed}"
                    if needed
                    else f"there is no tool {name[:100]}: {', '.join(self.tools)} are"
                )
            tool = self.tools[name]
            checked = tool.check_arguments(arguments)
            if tool.runs_script and not self._shows_values:
                refuse_values(checked["script"])
            if tool.attaches:
                checked["may_attach"] = self._may_attach
            found = tool.answer(**checked)
            refusal = None
            return found
        except Refused as error:
            refusal = str(error)
            raise
        finally:
            self._audit.end_call(call, time.monotonic() - began, refusal)


# --- the answers ----------------------------------------------------------------------------


def _list_processes() -> Answer:
    return answers.group_processes(run_command("pyusdt", "list", "--json", seconds=_QUICK))


def _list_probes(pid: int, pattern: str) -> Answer:
    found = run_command("pyusdt", "list", "--json", "-p", str(pid), seconds=_QUICK)
    return answers.select_probes(found, pattern)


def _list_scripts() -> Answer:
    texts = {name: script_text(name) for name in script_names()}
    return {"scripts": {name: text.split("\n")[1].removeprefix(" * ") for name, text in texts.items()}, "cut": []}  # fmt: skip


def _check_script(script: str, pid: int) -> Answer:
    """Compile it, and count for a second what its probes fire."""
    descriptions = list(dict.fromkeys(check_script(script, pid)))
    process = _name_process(pid)
    compiled = run_command("pydtrace", "-e", "-n", script, *process, seconds=_QUICK)
    if compiled.status:
        return {"valid": False, "problem": answers.shorten(compiled.messages), "probes": [], "cut": []}  # fmt: skip
    fired = [text for text in descriptions if not answers.is_consumer_probe(text)]
    clauses = [word for text in fired for word in ("-n", f"{text} {{ @[{answers.quote(text)}] = count(); }}")]  # fmt: skip
    options = ["--json", "-Z", "-x", f"maxcpu={_MAX_CPU}"]
    counted = run_command("pydtrace", *options, *clauses, *process, "-n", "tick-1s { exit(0); }",
                          seconds=_QUICK) if fired else None  # fmt: skip
    return answers.rate_probes(descriptions, counted)


def _run_script(script: str, seconds: int, pid: int) -> Answer:
    check_script(script, pid)
    return _trace(["-q", "-n", script, *_name_process(pid)], seconds, "pydtrace")


def _run_installed_script(name: str, seconds: int, pid: int) -> Answer:
    if name not in script_names():
        raise Refused(f"no script is called {name}: list_scripts has their names")
    return _trace(["trace", name, *_name_process(pid)], seconds, "pyusdt")


def _watch(pid: int, function: str, where: str, seconds: int) -> Answer:
    try:
        script = make_script(parse_function(function), where or None)
    except ValueError:
        raise Refused(f"{function} is no function: shop.cart:checkout, Cart.total are") from None
    return _run_script(script, seconds, pid)


def _trace(arguments: list[str], seconds: int, command: str) -> Answer:
    found = run_command(
        command, *arguments, "--json", "-x", f"maxcpu={_MAX_CPU}", seconds=seconds, interrupt=True
    )
    return answers.digest_trace(found)


def _name_process(pid: int) -> list[str]:
    return ["-p", str(pid)] if pid else []


def _dump(pid: int) -> Answer:
    return answers.digest_dump(run_command("pyusdt", "dump", "--json", str(pid), seconds=_QUICK))


def _dump_locals(pid: int) -> Answer:
    arguments = ("dump", "--json", "--locals", "--items", "5", str(pid))
    return answers.digest_dump(run_command("pyusdt", *arguments, seconds=_QUICK))


def _profile(pid: int, seconds: int) -> Answer:
    arguments = ("profile", "--folded", "-d", str(seconds), str(pid))
    return answers.digest_profile(run_command("pyusdt", *arguments, seconds=seconds + _QUICK))


def _why(pid: int, seconds: int, may_attach: bool) -> Answer:
    arguments = ("why", *([] if may_attach else ["--no-attach"]), "-d", str(seconds), str(pid))
    return answers.digest_text(run_command("pyusdt", *arguments, seconds=seconds + _QUICK))


def _heap(pid: int, seconds: int) -> Answer:
    arguments = ("heap", "-d", str(seconds), str(pid))
    return answers.digest_text(run_command("pyusdt", *arguments, seconds=seconds + _QUICK))


def _read_manual(topic: str, offset: int) -> Answer:
    if topic.startswith("-"):
        raise Refused(f"{topic} is no topic")
    found = run_command("pyusdt", "help", *([topic] if topic else []), seconds=_QUICK)
    return answers.digest_text(found, offset)


def _attach(pid: int) -> Answer:
    return answers.digest_text(run_command("pyusdt", "attach", str(pid), seconds=_QUICK))


def _detach(pid: int) -> Answer:
    return answers.digest_text(run_command("pyusdt", "detach", str(pid), seconds=_QUICK))


_PID = Parameter("integer", "the process", 1, 1 << 22)
_ANY_PID = Parameter("integer", "the process; 0: all that have the probes", 0, 1 << 22, 0)
_SECONDS = Parameter("integer", "how long to look", 1, MAX_SECONDS, 5)
_SCRIPT = Parameter("string", "the script in D; $target is pid", 1, MAX_SCRIPT)

TOOLS = (
    Tool("list_processes", "The processes that have probes, and their providers.", {}, _list_processes),
    Tool("list_probes", "The probes of a process, with the types of their arguments.",
         {"pid": _PID, "pattern": Parameter("string", "only names that contain it", 0, 200, "")}, _list_probes),
    Tool("list_scripts", "The installed scripts, each with the question that it answers.", {}, _list_scripts),
    Tool("check_script", "Dry run of a script: whether it compiles, what its probes match, and how many events a second they fire.",
         {"script": _SCRIPT, "pid": _ANY_PID}, _check_script),
    Tool("run_script", "Run a script for some seconds; its records and aggregations.",
         {"script": _SCRIPT, "seconds": _SECONDS, "pid": _ANY_PID}, _run_script),
    Tool("run_installed_script", "Run an installed script for some seconds.",
         {"name": Parameter("string", "of list_scripts", 1, 100), "seconds": _SECONDS, "pid": _ANY_PID}, _run_installed_script),
    Tool("dump", "The stacks of all threads and asyncio tasks of a Python process, now.", {"pid": _PID}, _dump),
    Tool("profile", "Which functions a Python process spends its time in.", {"pid": _PID, "seconds": _SECONDS}, _profile),
    Tool("why", "What makes some requests slow, of a program that `pyusdt run` started (any Python program, if attach is allowed).",
         {"pid": _PID, "seconds": _SECONDS}, _why, attaches=True),
    Tool("read_manual", "A page of the manual; without a topic the list of them.",
         {"topic": Parameter("string", "a page or an error's tag", 0, 100, ""),
          "offset": Parameter("integer", "characters that were read before", 0, 1 << 24, 0)}, _read_manual),
    Tool("dump_locals", "The same as dump, with local variables.", {"pid": _PID}, _dump_locals, "values"),
    Tool("watch", "The calls of a Python function: arguments, result or exception, and time.",
         {"pid": _PID, "function": Parameter("string", "MODULE:FUNCTION, FUNCTION, or a glob of it", 1, 300),
          "where": Parameter("string", "only these calls, an expression of D: local.order.total > 100", 0, 1000, ""), "seconds": _SECONDS},
         _watch, "values"),
    Tool("attach", "Bring the provider python into a process that runs.", {"pid": _PID}, _attach, "attach"),
    Tool("heap", "What a Python process allocates meanwhile and keeps, by stack, and what of it grows.",
         {"pid": _PID, "seconds": _SECONDS}, _heap, "attach"),
    Tool("detach", "Take out what attach has brought in.", {"pid": _PID}, _detach, "attach"),
)  # fmt: skip
