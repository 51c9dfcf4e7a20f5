"""-x file: probes of files that no process has mapped yet."""

import os
import subprocess
import sys
import threading

import pytest

from tests.support.kernel_harness import pydtrace, start_pydtrace, wait_until

pytestmark = pytest.mark.usefixtures("bpf")


def build(folder, name, value):
    """A library that fires with this value when it is loaded."""
    source = folder / f"{name}.c"
    source.write_text(
        "#include <sys/sdt.h>\n"
        f"__attribute__((constructor)) static void begin(void) {{ STAP_PROBE1(late, first, {value}); }}\n"
    )
    subprocess.run(["gcc", "-O2", "-shared", "-fPIC", "-o", folder / name, source], check=True)
    return folder / name


@pytest.fixture(scope="module")
def late(tmp_path_factory):
    """A library with a probe, that fires when it is loaded."""
    folder = tmp_path_factory.mktemp("late")
    library = build(folder, "liblate.so", 7)
    script = folder / "load.py"
    script.write_text(f"import ctypes\nctypes.CDLL({str(library)!r})\n")
    return library, f"{sys.executable} {script}"


def test_it_is_listed(late):
    out, err, status = pydtrace("-l", "-n", "late*:::", options=("-x", f"file={late[0]}"))
    assert (
        out.splitlines()[1].split()[1:] == ["late", "liblate.so", "begin", "first"] and status == 0
    ), (out, err)


def test_what_a_library_fires_while_it_is_loaded(late):
    out, err, _ = pydtrace(
        "-q",
        "-n",
        'late$target:::first { printf("%d %s\\n", arg0, probemod); }',
        "-c",
        late[1],
        options=("-x", f"file={late[0]}"),
    )
    assert "7 liblate.so" in out.splitlines(), (out, err)


def test_a_process_to_come(late):
    library, command = late
    tracer = start_pydtrace(
        "-q",
        "-x",
        f"file={library}",
        "-n",
        'late*:::first { printf("%d\\n", pid); exit(0); }',
        "-n",
        'tick-50ms /!told++/ { printf("ready\\n"); }',
        wait_for="ready",
    )
    process = subprocess.Popen(command.split())
    process.wait(timeout=20)
    out, err = tracer.communicate(timeout=20)
    assert out.split() == [str(process.pid)], (out, err)


def test_what_can_not_be(late, tmp_path):
    _, err, status = pydtrace("-n", "late*:::first", options=("-x", f"file={tmp_path / 'no'}"))
    assert status == 1 and f"-x file={tmp_path / 'no'}: No such file or directory" in err
    _, err, status = pydtrace(
        "-n", "BEGIN", options=("-x", f"file={late[0]}", "-x", "engine=embedded")
    )
    assert status == 1 and "-x file is not possible with the embedded engine" in err


def test_a_library_that_is_exchanged_while_all_processes_are_traced(tmp_path):
    library = build(tmp_path, "libtrade.so", 1)
    load = [sys.executable, "-c", f"import ctypes; ctypes.CDLL({str(library)!r})"]
    tracer = start_pydtrace(
        "-q",
        "-x",
        f"file={library}",
        "-x",
        "switchrate=20hz",
        "-n",
        'BEGIN { printf("ready\\n"); } late*:::first /!seen[arg0]++/ { printf("%d\\n", arg0); }',
        wait_for="ready",
    )
    try:
        subprocess.run(load, check=True)
        assert tracer.stdout.readline() == "1\n"
        os.replace(build(tmp_path, "libother.so", 2), library)
        said = []
        reader = threading.Thread(target=lambda: said.append(tracer.stdout.readline()))
        reader.start()
        wait_until(lambda: said or subprocess.run(load, check=True).returncode)
        reader.join()
        assert said == ["2\n"]
    finally:
        tracer.kill()
        tracer.communicate()
