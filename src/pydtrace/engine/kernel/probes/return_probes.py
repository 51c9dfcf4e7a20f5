"""Return probes of functions: where each fires, and messages about those that cannot fire, or not
fully.

- A uretprobe is used only if it cannot kill the program, as far as its files tell.
- A function that a description names exactly and that cannot have a return probe is an error.
  Functions that match a pattern are skipped, with a warning.
"""

from __future__ import annotations

from pydtrace.engine import EngineError
from pydtrace.symbols import elf

from .return_sites import ReturnsNotFound, find_uretprobe_obstacle

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .finder import ProbeFinder, Site, TracedFile
    from .matcher import Matcher
    from .return_sites import ReturnPoint

URETPROBE = 1 << 16  # the level of what fires where the function has returned to
_NAMED = 3  # functions that a message names


class ReturnProbes:
    """finder: probes.Finder; matcher: match.Matcher."""

    def __init__(self, finder: ProbeFinder, matcher: Matcher) -> None:
        self._finder, self._matcher = finder, matcher
        self._refused: dict[str, list[str]] = {}  # {why: [probe]}
        self._by_address: dict[str, list[str]] = {}  # the same of those that have uretprobes
        self._without_value: dict[str, None] = {}  # probes
        self._files: dict[int, str | None] = {}  # what forbids uretprobes of each

    def find_points(self, site: Site, wants_value: bool) -> list[ReturnPoint] | None:
        """None: the site needs a uretprobe.  Raises EngineError where it can have no probe and its function is named alone."""
        try:
            found: list[ReturnPoint] = site.return_points()
        except ReturnsNotFound as error:
            return self._try_uretprobe(site, error)
        if wants_value and any(not each.has_value for each in found):
            self._without_value[_probe_name(site)] = None
        return found

    def _try_uretprobe(self, site: Site, error: ReturnsNotFound) -> list[ReturnPoint] | None:
        why = str(error)
        if not error.is_part:
            forbids = self._find_obstacle(site.file)
            if forbids is None:
                self._by_address.setdefault(why, []).append(_probe_name(site))
                return None
            why = f"where it returns is not known ({why}), and a probe on the address that it returns to may kill the program: {forbids}"
        if self._matcher.is_named_exactly(site):
            raise EngineError(f"kernel engine: no probe on {_probe_name(site)}: {why}")
        self._refused.setdefault(why, []).append(_probe_name(site))
        return []

    def _find_obstacle(self, file: TracedFile) -> str | None:
        if id(file) not in self._files:
            try:
                self._files[id(file)] = find_uretprobe_obstacle(
                    file.elf, self._finder.co_mapped_names(file)
                )
            except elf.BadFile as error:
                self._files[id(file)] = str(error)
        return self._files[id(file)]

    def warnings(self) -> list[str]:
        """What was not reported yet."""
        messages = [
            f"kernel engine: no probe on {_join_names(names)}: {why}"
            for why, names in self._refused.items()
        ]
        if self._without_value:
            messages.append(
                f"kernel engine: arg1 of {_join_names(list(self._without_value))} is 0 where the function ends by an indirect jump: "
                "the function at its end has the value"
            )
        self._refused, self._without_value = {}, {}
        return messages

    def details(self) -> list[str]:
        return [
            f"return probe on the address that it returns to (a uretprobe): {_join_names(names)}: {why}"
            for why, names in self._by_address.items()
        ]


def _probe_name(site: Site) -> str:
    return f"{site.file.name}:{site.shown_function}:return"


def _join_names(names: list[str]) -> str:
    shown, more = ", ".join(names[:_NAMED]), len(names) - _NAMED
    return f"{shown} and {more} more" if more > 0 else shown
