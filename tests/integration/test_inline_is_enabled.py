"""The is-enabled test of C and Cython: examples/inline_test.pyx, built with the headers that the package has."""

import os
import subprocess
import sys
import sysconfig

import pytest

import pyusdt
from tests.support import harness

CYTHON = os.path.join(os.path.dirname(sys.executable), "cython")
TESTS = """#include "pyusdt_probe.h"

static PyObject *wrong(PyObject *module, PyObject *probe)
{
    struct pyusdt_test test;
    (void)module;
    return pyusdt_test_of(probe, &test) < 0 ? NULL : PyBool_FromLong(pyusdt_is_on(&test));
}

static PyMethodDef methods[] = {{"is_on", wrong, METH_O, NULL}, {NULL, NULL, 0, NULL}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "in_c", NULL, -1, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit_in_c(void)
{
    return PyModule_Create(&module);
}
"""


def compiled(source, folder, name):
    """Makes the extension module `name` of a C file in the folder."""
    includes = [f"-I{sysconfig.get_paths()['include']}", f"-I{pyusdt.get_include()}"]
    target = folder / (name + sysconfig.get_config_var("EXT_SUFFIX"))
    subprocess.run(
        ["gcc", "-O2", "-Wall", "-shared", "-fPIC", *includes, source, "-o", target], check=True
    )


@pytest.fixture(scope="module")
def modules(tmp_path_factory):
    """A folder with inline_test, in Cython, and in_c."""
    folder = tmp_path_factory.mktemp("modules")
    subprocess.run(
        [
            CYTHON,
            "-I",
            f"{harness.ROOT}/src",
            f"{harness.ROOT}/examples/inline_test.pyx",
            "-o",
            folder / "inline_test.c",
        ],
        check=True,
    )
    (folder / "in_c.c").write_text(TESTS)
    for name in ("inline_test", "in_c"):
        compiled(folder / f"{name}.c", folder, name)
    return folder


def run(modules, code, *tracer):
    environment = {**os.environ, "PYTHONPATH": str(modules)}
    (modules / "run.py").write_text(code)
    command = [sys.executable, str(modules / "run.py")]
    return harness.run([*tracer, "-c", " ".join(command)] if tracer else command, env=environment)


def test_a_cython_module_fires_while_it_is_traced(modules):
    got = run(
        modules,
        "import inline_test; print(inline_test.squares(1000))",
        harness.PYDTRACE,
        "-Zq",
        "-n",
        "squares$target:::summed { @ = count(); @last = max(arg1); }",
    )
    assert (got.status, got.stderr) == (0, "") and got.stdout.split() == [
        "332833500",
        "1000",
        "332833500",
    ], got


def test_nobody_traces(modules):
    got = run(
        modules,
        "import inline_test, in_c; print(inline_test.squares(1000), in_c.is_on(inline_test.probe))",
    )
    assert (got.status, got.stdout) == (0, "332833500 False\n"), got


@pytest.mark.parametrize(
    "probe", ['pyusdt.probe("user_trace-i4s4")', 'pyusdt.Provider("squares").probe("other", int)']
)
def test_it_is_on_in_the_traced_process_and_its_fork_only_if_that_is_traced(modules, probe):
    """A forked child takes every probe for wanted until its first firing has published it anew."""
    code = f"""import os, sys, in_c, pyusdt
probe = {probe}
before = in_c.is_on(probe)
if os.fork() == 0:
    probe(1)
    os._exit(in_c.is_on(probe))
print(before, os.waitstatus_to_exitcode(os.wait()[1]))
"""
    got = run(
        modules,
        code,
        harness.PYDTRACE,
        "-Zq",
        "-n",
        "pyusdt$target:::user_trace-i4s4, squares$target:::other { n++; }",
    )
    assert (got.status, got.stdout.split()) == (0, ["True", "0"]), got


def test_what_is_no_probe_is_refused(modules):
    got = run(
        modules,
        """import in_c
class Wrong:
    def _test(self):
        return 1
for each in (3, Wrong()):
    try:
        in_c.is_on(each)
    except (AttributeError, ValueError) as error:
        print(type(error).__name__)
""",
    )
    assert (got.status, got.stdout) == (0, "AttributeError\nValueError\n"), got
