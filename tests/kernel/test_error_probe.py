"""The ERROR probe under the kernel engine: as the interpreter fires it, whose output the real dtrace's tests fix."""

import re
import subprocess

import pytest

from tests.support.kernel_harness import PYDTRACE, pydtrace

pytestmark = pytest.mark.usefixtures("bpf")
SCRIPTS = {
    "arguments": 'BEGIN { x = 1; trace(*(int *)8); } ERROR { printf("%d %d %d %d %s %d", arg1, arg2, arg4, arg5, probename, x); } '
    'BEGIN { printf("%s %d", probename, arg1); exit(0); }',
    "exit": "int x; BEGIN { trace(1 / x); } ERROR { exit(3); } ERROR { trace(4); } BEGIN { trace(3); }",
    "clause-local": "int x; BEGIN { this->a = 7; trace(1 / x); } ERROR { trace(this->a); this->a = 9; } BEGIN { trace(this->a); exit(0); }",
    "fault in ERROR": "int x; BEGIN { trace(1 / x); } ERROR { n++; trace(copyinstr(0x17)); } ERROR { trace(2); } BEGIN { trace(n); exit(0); }",
    "no fault but a commit": "int x; BEGIN { trace(1 / x); i = speculation(); } ERROR { trace(arg2); i = speculation(); } "
    "BEGIN { speculate(i); trace(1); } BEGIN { commit(i / (i != 0)); } BEGIN { exit(0); }",
    "at the end": "int x; BEGIN { exit(0); } END { trace(1 / x); } END { trace(5); } ERROR { trace(arg1); }",
}


def run(engine, script):
    done = subprocess.run(
        [PYDTRACE, "-x", f"engine={engine}", "-n", script],
        check=False,
        capture_output=True,
        text=True,
        timeout=30,
    )
    return (
        re.sub("(?m)^ +[0-9]", "  N", done.stdout),
        done.stderr,
        done.returncode,
    )  # the CPU is not the script's


@pytest.mark.parametrize("name", SCRIPTS)
def test_both_engines_fire_it_alike(name):
    ours = run("kernel", SCRIPTS[name])
    assert ":ERROR" in ours[0] and ours == run("embedded", SCRIPTS[name])


def test_arguments_survive_it_and_every_fault_fires_it(target):
    out, err, _ = pydtrace(
        "-q",
        "-n",
        "target*:::plain-two { @seen = sum(arg0); trace(1 / (arg0 % 4)); } "
        "target*:::plain-two { @after = sum(arg0); } ERROR { @faults = count(); @who[pid == $target] = count(); } "
        'END { printa("%@d ", @seen); printa("%@d ", @after); printa("%@d\\n", @faults); }',
        "-c",
        f"{target} 400",
    )
    assert f"{sum(range(400))} {sum(range(400))} 100\n" in out
    assert (
        err.count("divide-by-zero") == 4 and "dtrace: 97 more of: error in dt_clause_0 for" in err
    )
