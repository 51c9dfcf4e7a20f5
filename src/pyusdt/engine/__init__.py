"""The engines: each runs a compiled D program on the events of its targets.

An engine is used by consumer/run.py, always in this order:

    engine = SomeEngine(options)            # cli.options.Options; nothing is touched yet
    engine.open(program, targets)           # the program is loaded; nothing is enabled yet
    engine.matches(description)             # how many probes a description stands for now
    engine.go()                             # BEGIN fires, tracing is on, commands run
    while not engine.finished:
        records = engine.poll(timeout)      # records in dtrace's order
        ...                                 # engine.stop() at exit(), Ctrl-C or when engine.idle
    engine.aggregations()
    engine.close()

`-l` needs list_probes() only, which works before open().
"""


class EngineError(Exception):
    """What the user did or the host can not do; the message is for him, without the program's name."""


class Targets:
    """What is traced.  commands: list of command.Command (-c), made before the script is compiled, since it
    may name their pids ($target), and run by the engine's go(); pids: list of int (-p).  Both empty: every process of the user that has probes which the program enables, now or later."""

    __slots__ = ("commands", "pids")

    def __init__(self, commands=(), pids=()):
        self.commands, self.pids = list(commands), list(pids)


class Probe:
    """One probe: id as D's `id`, and its four names."""

    __slots__ = ("id", "provider", "module", "function", "name")

    def __init__(self, id, provider, module, function, name):
        self.id, self.provider, self.module = id, provider, module
        self.function, self.name = function, name


class Drop:
    """Data that was lost since the last call of drops().  kind: a key of consumer.faults' table
    ("principal", "aggregation", "dynamic", "order"); count; where: words for the end of the message,
    such as "on CPU 0" or "in process 12", or None."""

    __slots__ = ("kind", "count", "where")

    def __init__(self, kind, count, where=None):
        self.kind, self.count, self.where = kind, count, where


class Engine:
    """The interface, with what most engines share.

    idle: True once all commands and pids that were asked for are gone, and all of their events are
    polled; never where none were asked for.  finished: True once stop() was called and poll() has
    returned the last record (END's).
    """

    name = ""
    idle = False
    finished = False

    def __init__(self, options):
        self.options = options

    def open(self, program, targets):
        """Load the program and find the targets; EngineError where that can not be."""
        raise NotImplementedError

    def matches(self, description) -> int:
        """How many probes an ast.ProbeDesc stands for.  Between open() and go()."""
        raise NotImplementedError

    def list_probes(self):
        """The probes that there are now: list of Probe in the order of their ids."""
        raise NotImplementedError

    def probe(self, id) -> Probe:
        """The probe of an id that a record has."""
        raise NotImplementedError

    def go(self):
        """Start tracing: BEGIN fires, then the commands run."""
        raise NotImplementedError

    def poll(self, timeout) -> bytes:
        """Records that came since the last call, waiting at most `timeout` seconds for the first.

        A signal's handler may run meanwhile; then poll returns early.
        """
        raise NotImplementedError

    def stop(self):
        """Fire END, once, and trace nothing more; poll() still returns what was recorded."""
        raise NotImplementedError

    def aggregations(self):
        """A snapshot: list of (AggDef, list of (key bytes, value bytes)), entries without data left out."""
        raise NotImplementedError

    def drops(self):
        """What was lost since the last call: list of Drop."""
        return []

    def close(self):
        """Let go of everything; commands that still run are killed, as dtrace does.  May be called at any time."""
