"""One tracing as erltrace drives it: options, a script, then the engine step by step.

- At most `limit` terms wait in `queue`; further ones are counted in `lost`.
- close() closes the engine, whatever happened before.
- Unlike the API's queue it waits for no reader: aggregations go on while the reader is slow.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

from pydtrace._tracer import find_rundir, list_probes
from pydtrace.dlang.compile import Compiler, default_macros
from pydtrace.dlang.compile_errors import CompileError, LibraryError
from pydtrace.dlang.host_placement import finish_program as finish_for_hosts
from pydtrace.driver.driver import Driver
from pydtrace.engine import EngineError, Targets, probe_signatures
from pydtrace.engine.kernel.kernel_structs import KernelBtf
from pydtrace.hosts import placement
from pydtrace.options import OptionError, Options
from pydtrace.sinks.erlang_terms_sink import (
    ErlangTermsSink,
    make_rows,
    read_contents,
    subtract_values,
)
from pydtrace.sinks.tee import Tee

if TYPE_CHECKING:
    from pydtrace.driver.sink import Sink
    from pydtrace.program.program import Program
    from pydtrace.sinks.erlang_terms_sink import Contents

    from .erlang_cluster import ErlangCluster
    from .metrics_and_alerts import AlertNotes, MetricsKeeper

_NOT_WHILE_TRACING = "Operation illegal when tracing is active"


class CommandError(Exception):
    """A message for the user."""


class Session:
    """target: what $target is, a process id; pids: what is traced, () is all of this user; command: words to start and
    trace, or None; limit: of terms that wait; strict: a probe that is not there is refused; cluster: the nodes that trace, where it is
    not this one alone."""

    def __init__(
        self,
        target: int,
        pids: tuple[int, ...],
        command: list[str] | None,
        limit: int,
        strict: bool,
        cluster: ErlangCluster | None = None,
    ) -> None:
        self._target, self._pids, self._argv, self._limit = target, pids, command, limit
        self._cluster = cluster
        self._options = Options()
        if not strict:
            self._options.set("zdefs", None)
        self._script: bytes | None = None
        self._arguments: list[str] = []
        self._driver: Driver | None = None  # until close()
        self._terms = ErlangTermsSink(self._queue_term)
        self._last: dict[int, dict[bytes, bytes]] = {}  # map -> key -> what the last walk found
        self._meter: MetricsKeeper | None = None
        self._notes: AlertNotes | None = None
        self.queue: deque[Any] = deque()
        self.drops = 0
        self.state = "new"  # compiled, tracing, stopped, exited

    # --- commands ---------------------------------------------------------------------------------

    def setopt(self, name: str, value: str) -> None:
        if self.state not in ("new", "compiled"):
            raise CommandError(_NOT_WHILE_TRACING)
        try:
            self._options.set(name, value or None)
        except OptionError as error:
            raise CommandError(f"{name}: {error}") from None

    def watch(self, lines: list[str] | None, clauses: list[str]) -> None:
        """lines: of a mapping, where metrics are asked for in the place of aggregations; clauses: whose records are alerts."""
        from .metrics_and_alerts import (  # only those need it who ask for it
            RECEIVER,
            AlertNotes,
            MetricsKeeper,
        )

        for line in lines or ():
            self.setopt("metric", line)
        for clause in clauses:
            self.setopt("alert", f"{clause}={RECEIVER}")
        self._meter = None if lines is None else MetricsKeeper()
        self._notes = AlertNotes(self._terms.notice) if clauses else None

    def compile(self, script: bytes, arguments: list[str]) -> None:
        """Checks it; go() compiles it again, with the options and the processes of then."""
        self._script, self._arguments = script, arguments
        try:
            self._compile_script(self._target)
        except CommandError:
            self._script = None
            raise
        self.state = "compiled"

    def _compile_script(self, target: int) -> Program:
        compiler = Compiler(self._options, default_macros(target), kernel=KernelBtf())
        compiler.names.reported_arguments = (
            probe_signatures.default_signatures()
            if self._cluster
            else probe_signatures.signatures_of_processes(self._options, self._pids)
        )
        compiler.arguments = ["erltrace", *self._arguments]
        try:
            if self._cluster:
                self._cluster.declare_hosts(compiler)
            compiler.compile_text(self._script or b"", None)
            program: Program = (
                finish_for_hosts(compiler, placement.clause_placement, placement.HOSTS)
                if self._cluster
                else compiler.generate_program()
            )
        except CompileError as error:
            raise CommandError(_render_error(error)) from None
        except LibraryError as error:
            raise CommandError(str(error)) from None
        program.arguments = compiler.arguments
        return program

    def go(self) -> None:
        try:
            self._begin_tracing()
        except EngineError as error:
            raise CommandError(str(error)) from None
        except OSError as error:
            raise CommandError(error.strerror or str(error)) from None
        finally:
            if self.state != "tracing":
                self.close()

    def _begin_tracing(self) -> None:
        if self._cluster:
            targets, target = Targets(), self._target
            if not self._cluster.pids:
                raise EngineError("none of these nodes is there")
            self._options["hosts"] = self._cluster.make_request(
                self._compile_script(target), self._options, self._script or b"", self._arguments
            )
        elif self._argv:
            from pydtrace.process.command import Command

            targets, target = Targets((), command := Command(self._argv)), command.pid
        else:
            targets, target = self._choose_targets(self._compile_script(self._target)), self._target
        self._driver = driver = Driver(self._options, targets)
        driver.open(self._compile_script(target))
        driver.engine.reports_other_users_at_once = True  # here nobody's terminal is written on
        try:
            driver.check_matches()
        except CompileError as error:
            raise CommandError(_render_error(error)) from None
        others: list[Sink] = [self._meter] if self._meter else []
        others += [self._notes.sink] if self._notes else []
        driver.begin(Tee(self._terms, *others) if others else self._terms)
        self.state = "tracing"

    def _choose_targets(self, program: Program) -> Targets:
        """Where nothing was named and all probes are the node's own, it is the node alone that is traced: of other processes,
        and of other users, there is nothing to tell then."""
        from pydtrace.engine.embedded.engine import is_tracer_probe

        if self._pids:
            return Targets(self._pids, only=True)
        node = Targets((self._target,), only=True)
        foreign = [
            desc.provider
            for clause in program.clauses
            for desc in clause.probes
            if not is_tracer_probe(desc)
        ]
        return (
            node
            if foreign and all(map(node.cover_provider, foreign)) and self._node_has_probes()
            else Targets()
        )

    def _node_has_probes(self) -> bool:
        """Now; a node that loads the library later is found where all processes are looked for."""
        try:
            return bool(list_probes(find_rundir(self._target), self._target))
        except OSError:
            return False

    def update_nodes(self, nodes: list[tuple[bytes, int]]) -> None:
        """All nodes that are there now."""
        if self._cluster:
            self._cluster.update_nodes(nodes)

    def poll(self, timeout: float) -> None:
        """Take what there is, or comes in time."""
        try:
            if self._begun_driver.is_over:
                self._end_tracing("exited")
            else:
                self._begun_driver.step(timeout)
        except EngineError as error:
            self._handle_engine_error(error)

    def stop(self) -> None:
        try:
            self._end_tracing("stopped")
        except EngineError as error:
            self._handle_engine_error(error)
            raise CommandError(str(error)) from None

    def _handle_engine_error(self, error: EngineError) -> None:
        """The engine has failed: what was recorded is kept."""
        self._terms.fault(str(error))
        self._terms.final = self._terms.final or []
        self.state = "stopped"
        self.close()

    def _end_tracing(self, state: str) -> None:
        self._begun_driver.end()
        self.state = state
        self.close()

    def close(self) -> None:
        if self._driver:
            self._driver.close()

    @property
    def _begun_driver(self) -> Driver:
        """The driver of what was begun."""
        assert self._driver
        return self._driver

    # --- what it gives ----------------------------------------------------------------------------

    def _queue_term(self, term: Any) -> None:
        if len(self.queue) < self._limit:
            self.queue.append(term)
        else:
            self.drops += 1

    @property
    def status(self) -> int:
        """What the script gave to exit(), else 0."""
        return self._begun_driver.exit_status or 0

    def take_terms(self, most: int) -> list[Any]:
        """The next terms."""
        return [self.queue.popleft() for _ in range(min(most, len(self.queue)))]

    def take_drops(self) -> int:
        lost, self.drops = self.drops, 0
        return lost

    def snapshot(self) -> list[tuple[str, list[Any]]]:
        """[(name, rows)] of all aggregations, as they are now."""
        symbols = self._begun_driver.actions.symbols
        return [
            (definition.name, make_rows(definition, items, symbols))
            for definition, items in self._read_aggregations()
        ]

    def read_metrics(self) -> list[Any] | None:
        """As watch.Meter gives them; None where they were not asked for."""
        return self._meter.read_families() if self._meter else None

    def take_note(self) -> Any:
        """The next one of an alert, None where there is none."""
        return self._notes.take_note() if self._notes else None

    @property
    def has_pending(self) -> bool:
        """Something is to be taken."""
        return bool(self.queue or self.drops or (self._notes and not self._notes.is_empty))

    def walk(self) -> list[Any]:
        """The rows of all aggregations to which something came since the last walk: what came."""
        found = []
        symbols = self._begun_driver.actions.symbols
        for definition, items in self._read_aggregations():
            last = self._last.get(definition.map, {})
            new = [
                (key, subtract_values(definition.row, last.get(key), value)) for key, value in items
            ]
            found += make_rows(
                definition, [(key, value) for key, value in new if value is not None], symbols
            )
            self._last[definition.map] = dict(items)
        return found

    def _read_aggregations(self) -> list[Contents]:
        return (
            read_contents(self._begun_driver.actions.aggregates)
            if self._terms.final is None
            else self._terms.final
        )


def _render_error(error: CompileError) -> str:
    return str(error.render(False, "erltrace")).strip()
