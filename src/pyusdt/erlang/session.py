"""One tracing as erltrace drives it: options, a script, then the engine, step by step.

In: commands' arguments; time (poll).  Out: terms, in `queue`; aggregations.
Always: at most `limit` terms wait; what is over is counted in `lost` and no more; the engine is closed by close(),
whatever happened before.  Unlike the API's Pump nothing waits for the reader: aggregations go on while he is slow.
"""

from __future__ import annotations

from collections import deque
from typing import Any

from ..dlang.compile import Compiler, default_macros
from ..dlang.errors import CompileError, LibraryError
from ..engine import EngineError, Targets
from ..options import OptionError, Options
from ..report.terms import Items, rows, since
from .etf import Atom

_NOT_WHILE_TRACING = "Operation illegal when tracing is active"
_DROP = Atom("drop")


class Failure(Exception):
    """What the user is told."""


class Session:
    """target: what $target is, a process id; pids: what is traced, () is all of this user; command: words to start and
    trace, or None; limit: of terms that wait."""

    def __init__(self, target: int, pids: tuple[int, ...], command: list[str] | None, limit: int) -> None:
        self._target, self._pids, self._argv, self._limit = target, pids, command, limit
        self._options = Options()
        self._options.set("zdefs", None)
        self._script: bytes | None = None
        self._arguments: list[str] = []
        self._engine: Any = None
        self._command: Any = None
        self._held: Any = None
        self._drops: dict[str, int] = {}
        self._last: dict[int, dict[bytes, bytes]] = {}  # map -> key -> what the last walk found
        self._final: list[Any] | None = None  # aggregations at the end
        self.queue: deque[Any] = deque()
        self.lost = 0
        self.state = "new"  # compiled, tracing, stopped, exited
        self.status = 0

    # --- commands ---------------------------------------------------------------------------------

    def setopt(self, name: str, value: str) -> None:
        if self.state not in ("new", "compiled"):
            raise Failure(_NOT_WHILE_TRACING)
        try:
            self._options.set(name, value or None)
        except OptionError as error:
            raise Failure(f"{name}: {error}") from None

    def compile(self, script: bytes, arguments: list[str]) -> None:
        """Checks it; go() compiles it again, with the options and the processes of then."""
        self._script, self._arguments = script, arguments
        try:
            self._compiled()
        except Failure:
            self._script = None
            raise
        self.state = "compiled"

    def _compiled(self) -> Any:
        compiler = Compiler(self._options, default_macros(self._command.pid if self._command else self._target))
        compiler.arguments = ["erltrace", *self._arguments]
        try:
            compiler.add(self._script, None)
            program = compiler.finish()
        except CompileError as error:
            raise Failure(error.render(False, "erltrace").strip()) from None
        except LibraryError as error:
            raise Failure(str(error)) from None
        program.arguments = compiler.arguments
        return program

    def go(self) -> None:
        from ..engine.choice import open_engine

        try:
            self._go(open_engine)
        except EngineError as error:
            self.close()
            raise Failure(str(error)) from None
        except OSError as error:
            self.close()
            raise Failure(error.strerror or str(error)) from None

    def _go(self, open_engine: Any) -> None:
        targets = Targets(self._pids, only=bool(self._pids))
        if self._argv:
            from ..engine.command import Command

            self._command = Command(self._argv)
            targets = Targets((), self._command)
        program = self._compiled()
        if program.destructive and not self._options.get("destructive"):
            raise EngineError("could not enable tracing: Destructive actions not allowed")
        self._engine, _reason = open_engine(program, self._options, targets)
        self._items = Items(program, self._engine, self._options, self._add)
        if program.speculates:
            from ..tracing.speculations import DEFAULT_SIZE, Held

            self._held = Held(self._options.get("specsize", DEFAULT_SIZE))
        self._engine.begin()
        if self._command:
            self._command.go()
        self.state = "tracing"

    def poll(self, timeout: float) -> None:
        """Take what there is, or comes in time."""
        engine = self._engine
        try:
            if engine.exiting or engine.finished:
                self._end("exited")
            else:
                self._feed(engine.poll(timeout))
        except EngineError as error:
            self._break(error)

    def stop(self) -> None:
        try:
            self._end("stopped")
        except EngineError as error:
            self._break(error)
            raise Failure(str(error)) from None

    def _break(self, error: EngineError) -> None:
        """The engine has failed: what was recorded is kept."""
        self._items.fault(str(error))
        self._final = self._final or []
        self.state = "stopped"
        self.close()

    def _end(self, state: str) -> None:
        self._feed(self._engine.end())
        while records := self._engine.more():
            self._feed(records)
        self._final = self._items.aggregations()
        self.state = state
        self.close()

    def close(self) -> None:
        engine, self._engine = self._engine, None
        command, self._command = self._command, None
        try:
            if engine:
                engine.close()
        finally:
            if command:
                command.stop()

    # --- what it gives ----------------------------------------------------------------------------

    def _add(self, term: Any) -> None:
        if len(self.queue) < self._limit:
            self.queue.append(term)
        else:
            self.lost += 1

    def _feed(self, records: bytes) -> None:
        if self._held:
            records = self._held.sift(records)
        self._items.feed(records)
        self.status = self._items.actions.status
        for text in self._engine.warnings():
            self._items.fault(text)
        drops = dict(self._engine.drops())
        if self._held:
            drops["speculative"] = self._held.lost
        for kind, count in drops.items():
            if count > self._drops.get(kind, 0):
                self._add((_DROP, Atom(kind), count - self._drops.get(kind, 0)))
                self._drops[kind] = count

    def take(self, most: int) -> list[Any]:
        """The next terms."""
        return [self.queue.popleft() for _ in range(min(most, len(self.queue)))]

    def take_lost(self) -> int:
        lost, self.lost = self.lost, 0
        return lost

    def snapshot(self) -> list[tuple[str, list[Any]]]:
        """[(name, rows)] of all aggregations, as they are now."""
        symbols = self._items.actions.symbols
        return [(definition.name, rows(definition, items, symbols)) for definition, items in self._aggregations()]

    def walk(self) -> list[Any]:
        """The rows of all aggregations to which something came since the last walk: what came."""
        found = []
        for definition, items in self._aggregations():
            last = self._last.get(definition.map, {})
            new = [(key, since(definition.row.name, last.get(key), value)) for key, value in items]
            found += rows(definition, [(key, value) for key, value in new if value is not None], self._items.actions.symbols)
            self._last[definition.map] = dict(items)
        return found

    def _aggregations(self) -> list[Any]:
        return self._items.aggregations() if self._final is None else self._final
