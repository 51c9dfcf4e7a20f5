"""pydtrace's command line against the real dtrace's: standard output, messages and exit status.

CPU numbers, ids and BPF addresses are masked; our lines about the engine and about a fault's place are left out; of a
compile error the first message is dtrace's, what follows (place, source line, hint) is ours.
"""

import re

import pytest

pytestmark = pytest.mark.xdist_group("integration/test_pydtrace_oracle")

SCRIPTS = {
    "options.d": "#pragma D option quiet\n#pragma D option switchrate=10hz\nBEGIN { trace(1); exit(0); }\n",
    "wrong-option.d": "#pragma D option bogus=5\nBEGIN { exit(0); }\n",
    "faults.d": 'int x; BEGIN { trace(1/x); printf("no"); } BEGIN { trace("0123456789abc"); }\n'
    'BEGIN { @["0123456789abc"] = count(); exit(0); }\n',
    "array-keys.d": "char a[5], b[8];\nBEGIN { a[0] = 9; a[1] = 'A'; @[a, b] = count(); a[3] = 200; b[7] = 1; @[a, b] = count(); exit(0); }\n"
    'END { printa("%s|%8s|%@d\\n", @); printa("%S %S\\n", @); printa("%@d\\n", @); }\n',
    "no-probe.d": "BEGIN { }\nnosuch*:a:b:c,\nBEGIN\n/1/\n{ }\n",
}
COMMAND_LINES = [
    ["operand"],
    ["-en", "BEGIN{exit(0)}"],
    ["-Zwvn", "nosuch:::x", "-n", "BEGIN,END { trace(1); } tick-10ms { exit(259); }"],
    ["-qn", 'BEGIN{printf("hi")} END{printf("bye"); exit(7)}', "-c", "true"],
    ["-n", "a:b"],
    ["-n", "BEGIN{exit(0)}", "-p", "4194305"],
    ["-n", "BEGIN{exit(0)}", "-p", "abc"],
    ["-s", "/proc/nonexistent.d"],
    ["-s", "options.d", "-n", "END"],
    ["-s", "wrong-option.d"],
    ["-qs", "array-keys.d"],
    ["-s", "no-probe.d", "-e", "-xerrtags"],
    ["-o", "/proc/nonexistent/x", "-n", "BEGIN{trace(1); exit(0)}"],
    ["-x", "foo", "-n", "BEGIN"],
    ["-b", "4x", "-n", "BEGIN"],
    ["-l", "-n", "dtrace:::*"],
    ["-ln", "nosuch:::"],
    ["-V"],
    ["-lV"],
    ["-vn", "BEGIN{exit(0)} syscall::read:entry,sched:::on-cpu{}"],
    ["-y"],
    ["-n"],
    ["-x", "strsize=10", "-s", "faults.d"],
    ["-qn", 'BEGIN { printf("%d %s", $1, $$2); exit(0) }', "42", "foo"],
    [
        "-qn",
        'BEGIN { printf("[%*a][%*.*a][%-*a][%*a][%.*a]", 7, 3724, 7, 3, 3724, 7, 3724, -7, 3724, 2, 3724); exit(0) }',
    ],
]


def comparable(run):
    """(status, standard output, messages) without what may differ."""
    stdout = re.sub(r"(?m)^ +\d+ +\d+( +\S*:)", r"CPU ID\1", run.stdout)
    stderr = re.sub(r"(?m)^dtrace: engine: .*\n", "", run.stderr)
    stderr = re.sub(
        r"at BPF pc \d+(\n {4}at \S+:\d+:\d+$)?", "at BPF pc N", stderr, flags=re.MULTILINE
    )
    stderr = re.sub(
        r"(No such process): \d+$", r"\1", stderr, flags=re.MULTILINE
    )  # which one, ours says
    stderr = re.sub(
        r"\n\t--help .*(\n\t--.*)*\n", "", stderr
    )  # the usage's lines of our own options, behind dtrace's
    stderr = re.sub(r"(?m)^hint: .*\n", "", stderr)
    if " does not match any probes" in stderr or "failed to compile" in stderr:
        stderr = stderr.split("\n")[0]
    return run.status, stdout, stderr


@pytest.mark.parametrize("line", COMMAND_LINES, ids=" ".join)
def test_the_same_command_line_says_the_same(oracle, pydtrace, tmp_path, line):
    arguments = [str(tmp_path / word) if word in SCRIPTS else word for word in line]
    for name, text in SCRIPTS.items():
        (tmp_path / name).write_text(text)
    assert comparable(pydtrace(*arguments)) == comparable(oracle.dtrace(*arguments))
