"""Actions that are not printing a record: what sinks leave to us.

In: an Action and its record.  Out: what it does: text to the sink, aggregations changed, a command run.
Always: an action is done where it stands among the record's others; what fails is told as dtrace does,
and tracing goes on.
"""

from __future__ import annotations

import os
import signal
import struct

from ..data import program as p
from ..data.aggregations import dump
from ..options import OptionError
from .aggregates import Aggregates
from .symbols import Symbols

TYPE_CHECKING = False
if TYPE_CHECKING:

    from ..data.program import Action, AggDef, Data, Program
    from ..engine import Engine
    from ..options import Options
    from .sink import Sink
    from .texts import Texts

_NOT_WHILE_TRACING = ("aggsize", "bufsize", "dynvarsize", "specsize", "strsize", "nspec", "destructive")


class Actions:
    """program; engine; sink: sink.Sink, which gets text, notices and changed options; options: options.Options.
    status: what exit() was given, None before."""

    def __init__(self, program: Program, engine: Engine, sink: Sink, options: Options) -> None:
        self.program, self.engine, self.sink, self.options = program, engine, sink, options
        self.symbols = Symbols(options, engine.maps_of, engine.name_of)
        self.aggregates = Aggregates(program, engine, options, self.symbols)
        self._texts: Texts | None = None
        self.status: int | None = None

    @property
    def texts(self) -> Texts:
        if self._texts is None:
            from .texts import Texts  # few programs have such

            self._texts = Texts(self.program, symbols=self.symbols)
        return self._texts

    def act(self, action: Action, record: bytes) -> None:
        """Do one action; record: bytes of its own record."""
        getattr(self, "_" + action.row.kind)(action, record)

    def _exit(self, action: Action, record: bytes) -> None:
        self.status = _integer(action.data[0], record)

    def _stack(self, action: Action, record: bytes) -> None:
        self.sink.text(self.symbols.show(action.data[0], record))

    _symbol = _stack

    def _tracemem(self, action: Action, record: bytes) -> None:
        memory, *most = action.data
        shown = _integer(most[0], record) if most else -1
        size = memory.size if shown < 0 else min(shown, memory.size)
        self.sink.text(dump(record[memory.offset : memory.offset + size]))

    def _trace(self, action: Action, record: bytes) -> None:
        """Of a float; C prints the others."""
        from ..data.floats import of_storage, shown

        data = action.data[0]
        value = of_storage(record[data.offset : data.offset + data.size])
        self.sink.text(b"%g" % value if self.options.get("quiet") else shown(value))

    def _print(self, action: Action, record: bytes) -> None:
        from ..data import structured

        address, there = action.data
        limit = self.options.get("printsize", structured.PRINTSIZE)
        storage = record[there.offset : there.offset + there.size]
        self.sink.text(structured.show(there.type, storage, _integer(address, record), limit))

    def _printf(self, action: Action, record: bytes) -> None:
        """One that has addresses to name in it."""
        self.sink.text(self.texts.of_record(action, record))

    # --- aggregations ----------------------------------------------------------------
    def _definition(self, action: Action) -> AggDef:
        return self.aggregates.definition(action.args[0])

    def _clear(self, action: Action, record: bytes) -> None:
        self.aggregates.clear(self._definition(action))

    def _trunc(self, action: Action, record: bytes) -> None:
        self.aggregates.trunc(self._definition(action), _integer(action.data[0], record) if action.data else 0)

    def _normalize(self, action: Action, record: bytes) -> None:
        divisor = _integer(action.data[0], record) & (1 << 8 * action.data[0].size) - 1  # as in dtrace, without its sign
        if divisor == 0:
            self._complain(record, "normalize( ) by 0: the values stay as they are")
            return
        self.aggregates.normalize(self._definition(action), divisor)

    def _denormalize(self, action: Action, record: bytes) -> None:
        self.aggregates.normalize(self._definition(action), 1)

    def _printa(self, action: Action, record: bytes) -> None:
        found = self.aggregates
        aggdefs = [found.definition(symbol) for symbol in action.args]
        if action.fmt is None:
            text = found.text(aggdefs)
        else:
            text = self.texts.of_aggregations(action, found.joined(aggdefs), found.order(), found.normal)
        found.printed(aggdefs)
        self.sink.text(text)

    # --- the world outside --------------------------------------------------------------
    def _system(self, action: Action, record: bytes) -> None:
        """The output of the command goes where ours goes by default, as with dtrace."""
        import subprocess  # with it, and not with os.system(), the command ignores no signal that Python does

        subprocess.run(self.texts.of_record(action, record), shell=True, check=False)

    def _freopen(self, action: Action, record: bytes) -> None:
        path = self.texts.of_record(action, record)
        try:
            self.sink.reopen(path)
        except OSError as error:
            name = os.fsdecode(path)
            self._complain(record, f"couldn't freopen \"{name}\": {error.strerror}")

    def _ftruncate(self, action: Action, record: bytes) -> None:
        self.sink.truncate()

    def _raise(self, action: Action, record: bytes) -> None:
        self._signal(record, _integer(action.data[0], record))

    def _stop(self, action: Action, record: bytes) -> None:
        self._signal(record, signal.SIGSTOP)

    def _signal(self, record: bytes, number: int) -> None:
        """The process may have gone on since, or have ended.  Those of a recording are not here: who has its id now is another,
        and a stranger's file may say -1, which is everybody."""
        pid = struct.unpack_from("=i", record, p.RECORD_PID)[0]
        try:
            if not self.engine.is_live or pid <= 0:
                raise ProcessLookupError("it is none that is traced")
            os.kill(pid, number)
        except (OSError, ValueError) as error:
            self._complain(record, f"couldn't send signal {number} to {pid}: {error}")

    def _setopt(self, action: Action, record: bytes) -> None:
        name, *rest = [_string(data, record) for data in action.data]
        value = rest[0] if rest else None
        try:
            if name in _NOT_WHILE_TRACING:
                raise OptionError("Operation illegal when tracing is active")
            self.options.set(name, value)
        except OptionError as error:
            shown = "1" if value is None else value
            self._complain(record, f'couldn\'t set option "{name}" to "{shown}": {error}\n')
        else:
            self.sink.option_changed(name)

    def _complain(self, record: bytes, what: str) -> None:
        clause, probe = struct.unpack_from("=II", record, p.RECORD_CLAUSE)
        names = ":".join(self.engine.probe(probe))
        self.sink.notice(f"error in dt_clause_{clause & ~p.RECORD_FLAGS} for probe ID {probe} ({names}): {what}")


_INTEGERS = {(1, True): "b", (2, True): "h", (4, True): "i", (8, True): "q"}


def _integer(data: Data, record: bytes) -> int:
    code = _INTEGERS[data.size, True]
    if not (data.type.is_integer and data.type.signed):
        code = code.upper()
    value: int = struct.unpack_from("=" + code, record, data.offset)[0]
    return value


def _string(data: Data, record: bytes) -> str:
    return os.fsdecode(record[data.offset : data.offset + data.size].split(b"\0", 1)[0])
