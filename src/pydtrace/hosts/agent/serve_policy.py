"""The policy of pydtrace --serve=FILE: what a coordinator may do here (docs/reference/host-policy.md).

- Only what the file allows is allowed, except any script without -w.
- A file that others can write, or with a bad line, allows nothing.
- Every request is in the audit log, also if it was refused.
"""

from __future__ import annotations

import contextlib
import errno
import glob
import hashlib
import os
import resource
import shlex
import stat
import time
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from pydtrace.engine import Targets
from pydtrace.hosts.request import FORWARDED
from pydtrace.options import OptionError, Options
from pydtrace.process.identity import read_comm, start_ticks
from pydtrace.untrusted.terminal_escape import escape_for_terminal
from pydtrace.untrusted.trusted_files import changeable_by_others, is_owned_by_root_or_me

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydtrace.cli.parsing.arguments import Arguments
    from pydtrace.program.program import Program

_ANY = "any"
_SWITCHES = ("commands", "destructive", "values", "secrets")  # yes or no
_LISTS = ("scripts", "options", "processes", "relay")  # any, or words
_AMOUNTS = {
    "maxcpu": "maxcpu",
    "memory": "bufsize",
    "time": "switchrate",
}  # read as these -x options are
_FIELD = 300  # characters in the audit
# Options that decide what a host does; the others that a script may set are for who shows it.
_HOST_OPTIONS = frozenset(
    (
        *FORWARDED,
        "bufpolicy",
        "core",
        "debug",
        "disasm",
        "file",
        "libdir",
        "lockmem",
        "maxcpu",
        "switchrate",
        "syslibdir",
        "tree",
    )
)


class PolicyDenied(Exception):
    """The message is one line for who asked."""


class Policy:
    """said: {key: its value}; without a file all is allowed that the user may do."""

    def __init__(self, path: str | None) -> None:
        self.rules: dict[str, Any] = {
            "scripts": [_ANY],
            "options": [_ANY],
            "processes": [_ANY],
            "relay": [_ANY],
            "commands": True,
            "destructive": True,
            "values": True,
            "secrets": True,
        }
        self._audit: str | None = None
        self._ends: float | None = None
        self._is_policy_script = False  # it is the text of one of the policy's files
        self._limit = resource.getrlimit(resource.RLIMIT_DATA)
        self._who = os.environ.get("SSH_CONNECTION", "").split(" ")[0] or "-"
        self._asked = "-"
        if path is not None:
            self.rules |= {"relay": [], "commands": False, "destructive": False, "secrets": False}
            self._audit = "syslog"
            for number, line in enumerate(_read_policy(path).splitlines(), 1):
                self._read_file(f"{path}:{number}", line.partition("#")[0].strip())
            self._set_bounds()

    def _read_file(self, where: str, line: str) -> None:
        key, _, value = (part.strip() for part in line.partition(":"))
        if not line:
            return
        if key in _SWITCHES and value in ("yes", "no"):
            self.rules[key] = value == "yes"
        elif key in _LISTS and value:
            self.rules[key] = shlex.split(value)
        elif key in _AMOUNTS and (amount := _parse_amount(_AMOUNTS[key], value)):
            self.rules[key] = amount
        elif key == "audit" and (value in ("syslog", "no") or value.startswith("/")):
            self._audit = None if value == "no" else value
        else:
            raise PolicyDenied(
                f"{where}: a line that pydtrace --serve does not know, so nothing is allowed: {escape_for_terminal(line)}"
            )

    def _set_bounds(self) -> None:
        """From now on the run is bounded: reading the request and compiling count."""
        self._ends = time.monotonic() + self.rules["time"] / 1e9 if "time" in self.rules else None
        if "memory" in self.rules:
            resource.setrlimit(resource.RLIMIT_DATA, (self.rules["memory"], self._limit[1]))

    @contextlib.contextmanager
    def no_memory_bound(self) -> Iterator[None]:
        """For what is started here and is not pydtrace itself: a command inherits the limit of the moment."""
        bound = resource.getrlimit(resource.RLIMIT_DATA)
        resource.setrlimit(resource.RLIMIT_DATA, self._limit)
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_DATA, bound)

    # --- before -----------------------------------------------------------------------------------
    def check_request(self, arguments: Arguments, options: dict[str, Any]) -> None:
        """The request, before it is compiled or anything is started.  options: as they were sent."""
        texts = [os.fsencode(each.text or "") for each in arguments.requests]
        self._asked = (
            f"script={hashlib.sha256(b'|'.join(texts)).hexdigest()[:16]} pids={arguments.pids or '-'} "
            f"command={arguments.commands or '-'} options={sorted(options) or '-'}"
        )
        self._is_policy_script = _ANY not in self.rules["scripts"]
        if self._is_policy_script and not all(map(self._is_allowed, texts)):
            raise PolicyDenied(
                "this host's policy does not allow that script: only those of its own files"
            )
        if _ANY not in self.rules["options"] and (
            others := sorted(options.keys() - {*self.rules["options"]})
        ):
            raise PolicyDenied(
                f"this host's policy does not allow -x {', '.join(map(escape_for_terminal, others))}"
            )
        if arguments.commands and not self.rules["commands"]:
            raise PolicyDenied("this host's policy does not allow -c")

    def check_relay(self, via: list[str]) -> None:
        """What would be started to reach other hosts."""
        if self.rules["relay"] != [_ANY] and self.rules["relay"] != via:
            raise PolicyDenied("this host's policy does not allow to relay to other hosts so")

    def check_events(self) -> None:
        """Events are sent as they are, whatever the script makes of them."""
        if _ANY not in self.rules["scripts"]:
            raise PolicyDenied(
                "this host's policy allows scripts of its own, so that no events are sent: not with -x hostmode=central"
            )

    def _is_allowed(self, text: bytes) -> bool:
        """The text of one of the files."""
        for path in (path for pattern in self.rules["scripts"] for path in glob.glob(pattern)):
            with open(path, "rb") as file:
                if is_owned_by_root_or_me(os.fstat(file.fileno())) and file.read() == text:
                    return True
        return False

    def _may_trace(self, pid: int) -> int | None:
        """When the process began; None where it may not be traced."""
        began, names = start_ticks(pid), self.rules["processes"]
        is_allowed = pid != os.getpid() and any(fnmatchcase(read_comm(pid), name) for name in names)
        return began if is_allowed and began == start_ticks(pid) else None

    def filter_targets(self, found: Targets) -> Targets:
        """What may be traced of that: where processes are named, those that run now, and no others."""
        if _ANY in self.rules["processes"]:
            return found
        if found.command:  # which may be started, so that it may be traced
            return Targets(
                (), found.command, allowed={found.command.pid: start_ticks(found.command.pid) or 0}
            )
        pids = found.pids or [int(pid) for pid in os.listdir("/proc") if pid.isdigit()]
        allowed = {pid: began for pid in pids if (began := self._may_trace(pid)) is not None}
        for pid in found.pids:
            if pid not in allowed:
                raise PolicyDenied(f"this host's policy does not allow process {pid}")
        if not allowed:
            raise PolicyDenied("no process runs that this host's policy allows")
        return Targets(allowed, allowed=allowed)

    def check_program(self, options: Options, program: Program, asked: dict[str, Any]) -> None:
        """What the script says by itself is known now.  asked: the options before it was compiled."""
        if (program.destructive or options.get("destructive")) and not self.rules["destructive"]:
            raise PolicyDenied("this host's policy does not allow destructive actions")
        self._check_values(program, options)
        allowed, by_script = (
            self.rules["options"],
            {name for name in _HOST_OPTIONS & options.keys() if options[name] != asked.get(name)},
        )
        if (
            _ANY not in allowed
            and not self._is_policy_script
            and (others := sorted(by_script.difference(allowed)))
        ):
            raise PolicyDenied(
                f"this host's policy does not allow the script's #pragma D option {', '.join(others)}"
            )
        options.update(
            {name: self.rules[name] for name in ("maxcpu", "memory") if name in self.rules}
        )
        options["programstime"] = "maxcpu" in self.rules
        if options.get("engine") == "dtrace" and (
            bounds := sorted(self.rules.keys() & {"maxcpu", "memory"})
        ):
            raise PolicyDenied(
                f"this host's policy bounds {' and '.join(bounds)}, which dtrace(1) does not support: use -x engine=embedded or kernel"
            )

    def _check_values(self, program: Program, options: Options) -> None:
        """They are in the audit, which a long request may cut off behind them."""
        if program.path_texts:
            self._asked = f"values={','.join(program.path_texts)} {self._asked}"
        if program.path_texts and not self.rules["values"]:
            raise PolicyDenied(
                f"this host's policy does not allow values of programs: {escape_for_terminal(program.path_texts[0])}"
            )
        if options.get("secrets") and not self.rules["secrets"]:
            raise PolicyDenied("this host's policy does not allow -x secrets")

    @property
    def seconds_left(self) -> float | None:
        """Seconds; None: without end."""
        return self._ends and max(0.0, self._ends - time.monotonic())

    def is_out_of_memory(self, error: Exception) -> bool:
        """Whether an error is that the memory bound was reached: the interpreter itself has several for it."""
        return "memory" in self.rules and (
            isinstance(error, (MemoryError, SystemError)) or "start new thread" in str(error)
        )

    # --- after --------------------------------------------------------------------------------------
    def write_audit(self, outcome: str) -> None:
        """A line: when, who, what was asked, what came of it.  Denied: nothing may run that is not written down."""
        if self._audit is None:
            return
        line = f"pydtrace --serve: uid={os.getuid()} from={self._who} {escape_for_terminal(self._asked)[: 3 * _FIELD]} {escape_for_terminal(outcome)[:_FIELD]}"
        if self._audit == "syslog":
            import syslog

            syslog.syslog(syslog.LOG_NOTICE | syslog.LOG_AUTH, line)
            return
        data = f"{time.strftime('%Y-%m-%dT%H:%M:%S%z')} [{os.getpid()}] {line}\n".encode(
            "utf-8", "replace"
        )
        try:
            fd = os.open(
                self._audit,
                os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW,
                0o600,
            )
            try:
                if os.write(fd, data) < len(data):
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            finally:
                os.close(fd)
        except OSError as error:
            raise PolicyDenied(
                f"pydtrace cannot log this run in {self._audit} and does not start it: {error.strerror}"
            ) from None


def _read_policy(path: str) -> str:
    try:
        if others := changeable_by_others(os.path.dirname(path)):
            raise PolicyDenied(
                f"{others} can be written by others than root and the user of pydtrace --serve: chown and chmod go-w help"
            )
        with open(path, encoding="utf-8") as file:
            found = os.fstat(file.fileno())
            if not (stat.S_ISREG(found.st_mode) and is_owned_by_root_or_me(found)):
                raise PolicyDenied(
                    f"{path} can be written by others than root and the user of pydtrace --serve: chown and chmod go-w help"
                )
            return file.read(1 << 20)
    except (OSError, UnicodeDecodeError) as error:
        raise PolicyDenied(
            f"failed to read {path}: {getattr(error, 'strerror', None) or 'it is no text'}"
        ) from None


def _parse_amount(option: str, text: str) -> int:
    """0 where it is none."""
    options = Options()
    try:
        options.set(option, text)
    except OptionError:
        return 0
    return int(options[option])
