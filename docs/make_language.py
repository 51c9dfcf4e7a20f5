"""docs/guide/language.md: the language in short, then from the tables in src/pyusdt/dlang every built-in name of D, its
state in each engine, and why it is left out where it is.

    python docs/make_language.py            writes docs/guide/language.md
    python docs/make_language.py --print    shows it
"""

import os
import sys

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir)
PATH = os.path.join(TOP, "docs", "guide", "language.md")
FAILING = os.path.join(TOP, "tests", "conformance", "failing.txt")
_HEAD = """<!-- Made by docs/make_language.py from the tables in src/pyusdt/dlang; do not edit. -->
# D, the language

The first half of this page is the language in short. The second half lists every built-in variable and function of
dtrace 2.0, and what pyusdt makes of it. For a first look take the [tutorial](tutorial.md) instead.

## Clauses
A script is a list of clauses. A clause has probe descriptions, a predicate, which may be missing, and actions:

```d
pyusdt*:::user_trace-i4s4, pyusdt*:::user_trace-n7
/arg2 == 1 && pid != 1/
{
	this->ms = arg3 / 1000;
	printf("%d ms: %s\\n", this->ms, arg6 ? copyinstr(arg6) : "");
}
```

- A **probe description** is `provider:module:function:name`. An empty part matches everything; `*`, `?` and `[…]` are
  globs. `$target` in a provider's name is the process id of `-c` or `-p`.
- When a probe fires, its clauses run from the first to the last, each if its predicate is not 0.
- There is no loop, and no `if` statement: use predicates, `?:`, and several clauses for one probe.
- A clause without actions (`{ }`) prints the probe's columns (nothing under `-q`); one that only assigns or
  aggregates prints nothing.
- Probes of the tracer itself: `BEGIN` and `END`, once each; `tick-1s`, `tick-10hz` on a timer; `ERROR` after a run-time
  error. `profile-97` fires on every CPU, for the kernel engine.
- `exit(0)` ends tracing. Comments are C's; `#pragma D option quiet` stands for `-q`, and so on for every `-x` option.
- `$1`, `$2` … are the arguments behind the script on the command line; `$$1` is the same as a string.

## Variables
| name | lives in | begins as |
| --- | --- | --- |
| `this->x` | one event: all clauses of one firing | not defined: assign first |
| `self->x` | the thread that fired | 0 |
| `task->x` | the asyncio task or Erlang process that fired ("Beyond D") | 0 |
| `x` | the script | 0 |
| `x[key, …]`, `self->x[key, …]` | associative arrays; assigning 0 takes an element out | 0 |
| `arg0` … `arg9`, `args[0]` … | the probe's arguments, as integers, and with the types that the provider declares | |

The first assignment gives a variable its type: `x = 1` an integer, `x = copyinstr(arg6)` a string. It stands before
every other use in the script. Or declare the variable outside of the clauses: `uint64_t total;`, `self int depth;`.
Types are C's: `char` to `long long`, `int8_t` to `uint64_t`, `struct`, `union`, `enum`, `typedef`, arrays and
pointers, and `string`. Operators are C's, and `^^`, the logical exclusive or. Integers are computed in 64 bits.

```d
uint64_t slowest;

pyusdt*:::user_trace-i4s4 /arg2 == 0/ { self->start = timestamp; }
pyusdt*:::user_trace-i4s4 /arg2 == 1 && self->start/
{
	@["slow", copyinstr(arg6)] = quantize((timestamp - self->start) / 1000);
	slowest = timestamp - self->start > slowest ? timestamp - self->start : slowest;
	self->start = 0;
}
END { printf("slowest: %d us\\n", slowest / 1000); }
```

## Strings
A string argument is an address in the traced process. `copyinstr(arg6)` reads it; an absent one is 0, and reading
that is a run-time error, so write `arg6 ? copyinstr(arg6) : ""`. Strings are compared with `==` and `<`; they may be
keys. They hold at most `strsize` bytes (256; `-x strsize=1k`). `strlen strstr substr strjoin strtok index toupper`
and others are in the table below.

## Aggregations
An aggregation is a name with `@` and a function; it keeps one value for each key, however many events come:

```d
pyusdt*:::user_trace-i4s4
{
	@calls[pid, copyinstr(arg6)] = count();
	@bytes = sum(arg3);
	@sizes[copyinstr(arg6)] = quantize(arg3);
}
tick-10s { trunc(@calls, 5); printa("%6d %-20s %@d\\n", @calls); clear(@calls); }
```

It is printed when tracing ends, unless `printa()` has printed it. An aggregation can not be read in an expression.

## Speculations
`speculation()` gives a number. What a clause records after `speculate(number)` is held back until another clause calls
`commit(number)`, which prints it, or `discard(number)`. [scripts/before-the-error.d](../../scripts/before-the-error.d)
is an example.

## Run-time errors
A bad address or a division by zero ends the clause, for this event; the next clauses run. dtrace's message and the
place in the script are printed.

# Built-in names
The engines run the same compiled program; where they differ, the column says how.
"""

_TAIL = """
## Beyond D
Names that D does not have, so that no D program means something else by them; they need no option.
- `task->x`, `task->x[keys]`: a variable of what fired the probe: an Erlang process, an asyncio task, else a thread.
  `proc` says which one it is, the first argument of `user_trace-i4s4` and `user_trace-n…`; other probes are refused
  with the reason. Where the program itself defines a `task`, that one is meant. An asyncio task is never taken for
  another, whatever its name; the id of an ended thread or Erlang process may be given again by the system, as with
  `self->`: set the variable to 0 in the end. `self->` is a thread's, as in D: under asyncio all tasks of a thread
  share it.
- `json(string, path)`, as in illumos: the value that a path such as `user.tags[2].name` leads to, always a string;
  what is between the quotes of a string, with its escapes; objects and arrays whole; NULL where there is no such
  value or no JSON.
- `term(arg, …)`: docs/guide/erlang.md.

Under `-x pyusdt`, since D does it otherwise:
- `@[copyinstr(arg)]`: strings that differ only behind `strsize` are one key in D. Here the whole string is read; what
  is longer is shown cut, with `~` and a hash of the whole as its end.

- Floating-point values: constants (`1.5`, `2e-3`), variables, members and arguments of the types `double` and
  `float`, with `+ - * /`, comparisons, conditions, casts and assignments; `trace()`, `%f %e %g` of `printf()` and
  `printa()` (`%@f`); `sum min max avg stddev` of them, and `quantize`, `lquantize` and `llquantize` of their integer
  part. An argument is one where a `provider` declaration says so: with `provider shop { probe order(int64_t, double);
  };` a clause may say `shop*:::order /args[1] > 2.5/ { @ = avg(args[1]); }`. In the API they are floats. The kernel
  engine prints and compares doubles and takes their `min` and `max`; what else there is it refuses.

Without it floating-point arguments are their bits (docs/guide/providers.md), and, as in D, `%f`, `%e` and `%g` of
`printf()` print what lies in memory: `*(double *)this->p`.

## Where dtrace 2.0.7 does something else
Found by comparing random programs (tests/differential), besides what docs/internals/program.md lists under "Integers".
- What `->` reads in memory of `alloca()` has that memory's address added once it was assigned to a variable.
- An element of an array of `int` that is negative is not extended by its sign when it is cast to a longer type.
- A string of `trace()`, or of a key, is printed as a table of bytes if the buffer behind it was not clean; we print
  the string.
- Strings of more than 16 characters in a program with aggregations leave bytes in what new aggregations begin with.
- `clear()` of `avg()` or `stddev()` ends in a failed assertion when they are printed, and so does a `printa()` of
  several aggregations where one of these lacks a key; here it is 0.
- The mean that `printa()` prints by a format of its own is divided without its sign: a negative one comes out as
  4611686018427387895, say; we print -8.
- `print()` shows of an array of structs the types only, and of memory that can not be read zeros; here the members,
  and a fault. Members that are floats are shown here, not there. An enum inside of a struct lies where the next
  member does, there.
- A NULL string as a key is a fault at an address such as 0x80; here at 0x0.
- `self->x += 0`, and every other compound assignment of a constant 0 to a `self->` variable, deletes the variable: it
  is 0 then.
- `index()` and `rindex()` find nothing (-1) in a string that `?:` chose, and in `copyinstr(…)` itself only what it
  begins with; in a variable that this was assigned to they find it. In what one string subroutine made of another's
  string (`copyinstr()` is one), or of a `?:`, they are 0 where nothing is found, and of `copyinstr()`'s always; here
  the place, or -1.
- `tracemem()` of memory of `alloca()` or `copyin()` shows zeros.
- Some expressions with `index()` or `rindex()` of three arguments give code that the kernel refuses (`Permission
  denied`).
- An array with too many keys (11, say) is refused; here `-x tregs` alone bounds them.
- A string and a number, `s + 1`, is the string from that character on; beyond its end it is what lies behind, here
  the empty string.
- `walltimestamp` goes on within a clause; here it is the time of the event.
- `%A` takes a number only with -p or -c; here always: it is an address of the process that fired.
- After `trunc()` of keys by `usym()` and its like dtrace prints, at the end, the addresses that it did not take out
  of the kernel; here what `printa()` would print. Keys of one process that print alike are one, in stacks, too; those
  of two processes are two, as in dtrace.
- `%lc` of what is not ASCII, and `%wc` of anything, ends the tracing; here both print the character, in UTF-8.
- `toupper()`, `tolower()`, `strtoll()`, and the base of `lltostr()` are not there.
"""


def rows_of(title, table, names):
    """One section.  names: all that D has of this kind, in order."""
    from pyusdt.dlang.builtins.absent import ABSENT, DECLARED, NOTES
    from pyusdt.dlang.types.prelude import NAMES

    lines = ["", f"## {title}", "| name | what it is | embedded | kernel |", "| --- | --- | --- | --- |"]
    for name in names:
        row = table.get(name)
        if name in NAMES:
            lines.append(f"| `{name}` | `<unknown>`, as in dtrace 2.0 | works | works |")
        elif name == "args":
            lines.append("| `args` | the probe's arguments, of the types that its provider declares | works | works |")
        elif name in DECLARED:
            lines.append(f"| `{name}` | {' | '.join(DECLARED[name])} |")
        elif row is None:
            reason = ABSENT[name]
            lines.append(f"| `{name}` | | no: {reason} | no |")
        elif getattr(row, "refused", False):
            lines.append(f"| `{name}` | | no: {row.doc} | no |")
        else:
            embedded, kernel = NOTES.get(name, ("works", "works"))
            lines.append(f"| `{name}` | {row.doc} | {embedded} | {kernel} |")
    return lines


def text():
    from pyusdt.dlang.builtins import ACTIONS, AGGREGATIONS, SUBROUTINES, VARIABLES
    from pyusdt.dlang.builtins import prototypes as p
    from pyusdt.dlang.builtins.absent import DECLARED

    def functions(kind, table):
        return sorted({*table, *(name for name, known in p.FUNCTIONS.items() if known[0] == kind)})

    variables = {*VARIABLES, *p.OTHER_VARIABLES, *DECLARED, *p.OTHER_ARRAYS} - {"__curthread"}
    lines = rows_of("Built-in variables", VARIABLES, sorted(variables))
    lines += rows_of("Subroutines", SUBROUTINES, functions(p.FUNCTION, SUBROUTINES))
    lines += rows_of("Aggregating functions", AGGREGATIONS, functions(p.AGGREGATING, AGGREGATIONS))
    lines += rows_of("Actions", ACTIONS, functions(p.ACTION, ACTIONS))
    return _HEAD + "\n".join(lines) + "\n" + _TAIL + "\n".join(suite()) + "\n"


def suite():
    """The section on DTrace's own tests: those of tests/conformance/failing.txt, with the reasons."""
    with open(FAILING, encoding="utf-8") as file:
        head, rest = file.read().strip().split("\n\n", 1)
    lines = ["", "## DTrace's own tests", head.replace("# ", ""), "", "| test | why it fails |", "| --- | --- |"]
    for line in rest.splitlines():
        test, _, reason = line.partition("  ")
        lines.append(f"| `{test.removeprefix('test/').removeprefix('unittest/')}` | {reason.strip()} |")
    return lines


if __name__ == "__main__":
    sys.path.insert(0, os.path.join(TOP, "src"))
    if sys.argv[1:] == ["--print"]:
        print(text(), end="")
    else:
        with open(PATH, "w", encoding="utf-8") as file:
            file.write(text())
