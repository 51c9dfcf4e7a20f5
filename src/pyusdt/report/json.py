"""pydtrace --json: the same tracing, as one JSON object a line.  docs/guide/json.md is the schema.

In: what tracing/run.py takes, without a formatter.  Out: lines of JSON, each written whole.  Always: what dtrace's text
would show is there: records, texts of printa(), losses, run-time errors, the aggregations at the end; messages go to
the standard error as well.
"""

import json

from .._tracer import Formatter
from ..data import values
from ..data.floats import of_json
from ..data.records import Decoder
from ..data.snapshot import Aggregation
from ..tracing.actions import Actions
from ..tracing.run import Run

SCHEMA = 1


class JsonRun(Run):
    """A Run whose output is JSON.  engine_reason: why it is that engine."""

    def __init__(self, program, engine, output, notify, options, engine_reason):
        super().__init__(program, engine, Formatter, output, notify, options)
        self.actions = Actions(program, engine, _Texts(self), notify, options, Formatter.another, self._option_changed)
        self._decoder = Decoder(program, engine.probe, self._fault, self.actions.act, self.actions.symbols)
        self._reason = engine_reason

    def run(self, command=None):
        self._say(type="begin", schema=SCHEMA, engine=self.engine.name, reason=self._reason)
        return super().run(command)

    def _say(self, **what):
        self.output.write(json.dumps(what, ensure_ascii=False, default=plain, separators=(",", ":")).encode(
            "utf-8", "replace") + b"\n")

    def _fault(self, text):
        self.notify(text)
        self._say(type="error", message=text)

    def _print(self, records):
        if self.held:
            records = self.held.sift(records)
        self._decoder.decode(records, self)

    def append(self, record):
        """One of the decoder's records."""
        found = record.to_dict()
        found["values"] = of_json(found["values"])
        self._say(type="record", **found)

    def _newline(self):
        """Ctrl-C and the end have no line of their own."""

    def _dropped(self, kind, count):
        self._say(type="drop", kind=kind, count=count)

    def _option_changed(self, name):
        """Nothing that setopt() can change is about JSON."""

    def _print_rest(self):
        aggregates = self.actions.aggregates
        for definition in aggregates.unprinted():
            found = Aggregation.from_items(definition, aggregates.entries(definition), self.program.strsize,
                                           self.actions.symbols)
            for key, value in found.items():
                self._say(type="aggregation", name=definition.name, keys=list(key), **shown(value))
        self._say(type="end", status=self.actions.status)


class _Texts:
    """Where printa() writes and freopen() would: an output of Actions."""

    def __init__(self, run):
        self._run = run

    def write(self, text):
        self._run._say(type="text", text=text.decode("utf-8", "replace"))

    def reopen(self, path):
        self._run.output.reopen(path)


def shown(value):
    """A value's members in its object."""
    members = {"function": value.function, "n": value.words[0]}
    if isinstance(value, values.Histogram):
        return {**members, "params": list(value.params), "buckets": [list(bucket) for bucket in value.buckets]}
    return {**members, "value": of_json(value) if isinstance(value, float) else int(value)}


def plain(value):
    """Bytes that are not UTF-8, for json."""
    if isinstance(value, bytes):
        return {"hex": value.hex()}
    raise TypeError(f"{type(value).__name__} has no JSON")
