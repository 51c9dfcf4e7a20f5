"""The table of pydtrace's options, of which the parser, the usage, the completion and the manual
page are made.

- The options have the order of the usage; dtrace's options have dtrace's words.
"""

from __future__ import annotations

from pydtrace.dlang.compile import DUMP_STAGES
from pydtrace.terminal_colour import WHEN as COLOURS


class Option:
    """name: without dashes; value: the value that it takes, as the usage writes it, or None; words: what it does, None if the usage
    does not list it; refused: why it can not be used, or None; needs: the value in words, for the message when it is missing;
    optional: the value may be left out; setting: the name of the -x option that it sets."""

    __slots__ = ("name", "needs", "optional", "refusal", "setting", "value", "help")

    def __init__(
        self,
        name: str,
        value: str | None = None,
        help: str | None = None,
        *,
        refusal: str | None = None,
        needs: str | None = None,
        optional: bool = False,
        setting: str | None = None,
    ) -> None:
        self.name, self.value, self.help, self.refusal = name, value, help, refusal
        self.needs, self.optional, self.setting = needs, optional, setting

    @property
    def flag(self) -> str:
        """As it is written."""
        return ("-" if len(self.name) <= 2 else "--") + self.name

    @property
    def synopsis(self) -> str:
        """As it is written with its value."""
        if self.value is None:
            return self.flag
        return f"{self.flag}[={self.value}]" if self.optional else f"{self.flag} {self.value}"


_FILE = "the name of a file"
_ANONYMOUS = "anonymous tracing is a kernel's"

# getopt(3) takes the first character of a name; of -32 and -64 the second is its argument.
DTRACE_OPTIONS = (
    Option(
        "32",
        None,
        "generate 32-bit D programs and ELF files",
        refusal="it is for 32-bit processes, which have no probes of pyusdt",
    ),
    Option("64", None, "generate 64-bit D programs and ELF files"),
    Option("a", refusal=_ANONYMOUS),
    Option("A", refusal=_ANONYMOUS),
    Option("b", "bufsz", "set trace buffer size", setting="bufsize"),
    Option("B", refusal="it is for dtrace's own developers"),
    Option("c", "cmd", "run specified command and exit upon its completion"),
    Option("C", None, "run cpp(1) preprocessor on script files", setting="cpp"),
    Option("D", "name[=def]", "define symbol when invoking preprocessor", setting="define"),
    Option("e", None, "exit after compiling request but prior to enabling probes"),
    Option("f", "func", "enable or list probes matching the specified function name"),
    Option("F", None, "coalesce trace output by function", setting="flowindent"),
    Option("G", None, "generate an ELF file containing embedded dtrace program"),
    Option("h", None, "generate a header file with definitions for static probes"),
    Option("H", None, "print included files when invoking preprocessor", setting="cpphdrs"),
    Option("i", "probe-id", "enable or list probes matching the specified probe id"),
    Option("I", "path", "add include directory to preprocessor search path", setting="incdir"),
    Option("l", None, "list probes matching specified criteria"),
    Option("L", "path", "add library directory to library search path", setting="libdir"),
    Option("m", "module", "enable or list probes matching the specified module name"),
    Option("n", "name", "enable or list probes matching the specified probe name"),
    Option("o", "output", "set output file"),
    Option("p", "pid", "grab specified process-ID and cache its symbol tables"),
    Option("P", "provider", "enable or list probes matching the specified provider name"),
    Option("q", None, "set quiet mode (only output explicitly traced data)", setting="quiet"),
    Option("s", "script", "enable or list probes according to the specified D script"),
    Option("S", None, "print D compiler intermediate code", setting="disasm"),
    Option("U", "name", "undefine symbol when invoking preprocessor", setting="undef"),
    Option("v", None, "set verbose mode (report stability attributes, arguments)"),
    Option("V", None, "report DTrace API version"),
    Option("w", None, "permit destructive actions", setting="destructive"),
    Option("x", "opt[=val]", "enable or modify compiler and tracing options"),
    Option("X", "a|c|s|t", "specify ISO C conformance settings for preprocessor", setting="stdc"),
    Option("Z", None, "permit probe descriptions that match zero probes", setting="zdefs"),
)

PYDTRACE_OPTIONS = (
    Option("help", None, "show this and exit"),
    Option("version", None, "show the versions of pyusdt, D and Python, and the platform"),
    Option("json", "1|2", "print a line of JSON for each record; 2: lines that can be merged with those of other sessions", optional=True,
           needs="the number of a schema: 1 or 2"),
    Option("parquet", "FILE", "write the records into a Parquet file", needs=_FILE),
    Option("live", None, "show the aggregations on the terminal while they grow"),
    Option("web", "PORT", "show the same in a browser of this machine, while it goes on", optional=True),
    Option("html", "FILE", "write the same as a page, at the end", needs=_FILE),
    Option("perfetto", "FILE", "write a time line for Perfetto: slices, tasks, counters", needs=_FILE),
    Option("chrome", "FILE", "write the same as Chrome's JSON", needs=_FILE),
    Option("metrics", "[ADDR:]PORT", "answer Prometheus with the aggregations while they grow",
           needs="the number of a port, and an address before it where it is not 127.0.0.1: 9464, 0.0.0.0:9464, [::1]:9464"),
    Option("otlp", "URL", "send the aggregations to OpenTelemetry while they grow", setting="otlp",
           needs="the URL of a receiver: http://127.0.0.1:4318, grpc://127.0.0.1:4317"),
    Option("spans", "URL", "send pairs of records to OpenTelemetry, as spans", setting="spans",
           needs="the URL of a receiver: http://127.0.0.1:4318, grpc://127.0.0.1:4317"),
    Option("alert", "CLAUSE=RECEIVER", "notify a receiver when a clause has recorded something", setting="alert",
           needs="a clause and its receiver: slow=exec:PROGRAM, slow=webhook:URL, slow=alertmanager:URL"),
    Option("record", "FILE", "keep the events in a file while tracing", needs=_FILE),
    Option("replay", "FILE", "run the script over the events of such a file", needs=_FILE),
    Option("keep", "NAME[,TIME[,SIZE]]", "leave a session that goes on, and come back to it",
           needs="a name for the session, of at most 31 bytes"),
    Option("wait", "NAME|PID", "trace only processes of that name, or the one of that id, now or when they start",
           needs="the id of a process, or a name of at most 15 bytes"),
    Option("hosts", "LIST", "trace on all these hosts, and show what they count as one: web[1-40],db1",
           needs="the names of hosts: web[1-40],db1"),
    Option("via", "COMMAND", "how a command is run on a host; the default is 'ssh -T {host}'",
           needs="a command with {host} in it: --via 'ssh -T {host}'"),
    Option("relay", "LIST", "reach the hosts through these, each of which reaches its share, and merges what they count: gw[1-4]; relays behind them follow a space",
           needs="the names of hosts: gw[1-4]"),
    Option("serve", "FILE", "trace for pydtrace --hosts, through the standard input and output, as FILE allows", optional=True),
    Option("attach", None, "with -p: bring the provider python into the process, where it is not, until tracing ends"),
    Option("ready", "FD", "say on the standard error when the probes are on, or by a newline to a file descriptor", optional=True),
    Option("strict", None, "exit with status 3 if anything was dropped or came out of order"),
    Option("color", "|".join(COLOURS), "messages in colour: auto, the default, where the standard error is a terminal",
           needs=f"one of {', '.join(COLOURS)}"),
    Option("dump", "|".join(DUMP_STAGES), "show what the compiler makes of the requests, and exit", needs=f"one of {', '.join(DUMP_STAGES)}"),
)  # fmt: skip
