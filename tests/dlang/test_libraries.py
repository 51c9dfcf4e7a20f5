"""-L: folders of libraries; -C: the preprocessor; -h: headers."""

import shutil
import subprocess
import sys

import pytest

from pydtrace.cli.pydtrace.dtrace_h import default_header_path, make_header
from pydtrace.dlang.compile import Compiler, compile_program
from pydtrace.dlang.compile_errors import CompileError, LibraryError, PreprocessError
from pydtrace.options import Options


def with_options(**values):
    options = Options()
    for name, value in values.items():
        options.set(name, value)
    return options


def library(folder, **texts):
    for name, text in texts.items():
        (folder / f"{name}.d").write_text(text)
    return with_options(libdir=str(folder))


def test_libraries_are_read_in_the_order_of_their_dependencies(tmp_path):
    options = library(
        tmp_path,
        a="#pragma D depends_on library b.d\ninline int foo = bar;\n",
        b="inline int bar = 4;\n",
    )
    tree = Compiler(options).compile_text("BEGIN { trace(foo); }")
    assert tree.items[0].body[0].expr.args[0].value == 4


def test_libraries_that_depend_on_each_other_are_refused(tmp_path):
    options = library(
        tmp_path, a="#pragma D depends_on library b.d\n", b="#pragma D depends_on library a.d\n"
    )
    with pytest.raises(LibraryError, match="Cyclic dependency detected"):
        Compiler(options).compile_text("BEGIN { }")


def test_a_library_that_is_not_there_is_refused(tmp_path):
    options = library(tmp_path, a="#pragma D depends_on library b.d\n")
    with pytest.raises(LibraryError, match="Invalid library dependency in .*a.d: .*b.d"):
        Compiler(options).compile_text("BEGIN { }")


def test_a_library_whose_module_is_not_there_is_passed_over(tmp_path):
    options = library(tmp_path, a="#pragma D depends_on module nobody\ninline int foo = 1;\n")
    with pytest.raises(CompileError, match="failed to resolve foo"):
        Compiler(options).compile_text("BEGIN { trace(foo); }")


def test_an_error_in_a_library_names_it_and_the_program(tmp_path):
    options = library(tmp_path, a="inline int foo = nobody;\n")
    with pytest.raises(CompileError) as caught:
        Compiler(options).compile_text("BEGIN { }", "x.d")
    expected = f'failed to compile script x.d: "{tmp_path}/a.d", line 1: failed to resolve nobody: Unknown variable name'
    assert caught.value.summary() == expected


needs_cpp = pytest.mark.skipif(shutil.which("cpp") is None, reason="needs cpp")


@needs_cpp
def test_the_preprocessor_gets_the_options_in_their_order(tmp_path):
    (tmp_path / "n.h").write_text("#define NUMBER 3\n")
    options = Options()
    for name, value in [
        ("cpp", None),
        ("define", "A=1"),
        ("undef", "A"),
        ("incdir", str(tmp_path)),
    ]:
        options.set(name, value)
    text = "#!/usr/bin/dtrace -s\n#include <n.h>\n#ifdef A\n#error A\n#endif\nBEGIN { exit(NUMBER + __SUNW_D); }\n"
    call = Compiler(options).compile_text(text, "x.d").items[-1].body[0].expr
    assert call.args[0].value == 4


@needs_cpp
def test_lines_are_those_of_the_script_and_of_what_it_includes(tmp_path):
    (tmp_path / "bad.h").write_text("\ninline int x = nobody;\n")
    options = with_options(cpp=None, incdir=str(tmp_path))
    with pytest.raises(CompileError) as caught:
        Compiler(options).compile_text("#include <bad.h>\nBEGIN { }\n", "x.d")
    assert f'"{tmp_path}/bad.h", line 2: ' in caught.value.summary()
    with pytest.raises(CompileError) as caught:
        Compiler(with_options(cpp=None)).compile_text(
            "#define A 1\n\nBEGIN { trace(nobody); }\n", "x.d"
        )
    assert "x.d: line 3: " in caught.value.summary()


@needs_cpp
def test_what_the_preprocessor_refuses(capfd):
    with pytest.raises(PreprocessError, match="failed to process"):
        Compiler(with_options(cpp=None)).compile_text("#if 1\nBEGIN { }\n", "x.d")
    assert "unterminated" in capfd.readouterr().err
    with pytest.raises(PreprocessError, match="not found"):
        Compiler(with_options(cpp=None, cpppath="/proc/nonexistent")).compile_text(
            "BEGIN { }", "x.d"
        )


PROVIDER = """
provider my_prov {
    probe start__up(int a, char *b);
    probe nothing();
    probe vd(void);
};
"""
MACROS = ["MY_PROV_NOTHING()", "MY_PROV_START_UP(arg0, arg1)", "MY_PROV_VD()"]


def test_the_header_has_the_macros_of_dtrace():
    compiler = Compiler()
    compiler.compile_text(PROVIDER)
    text = make_header("out/prov.h", compiler.names.providers)
    assert text.count("_PROV_H\n") == 2
    for macro in MACROS:
        enabled = macro.partition("(")[0] + "_ENABLED()"
        assert text.count(f"#define\t{macro}") == 2  # probes on and off
        assert text.count(f"#define\t{enabled}") == 2
    assert default_header_path("some/where/prov.d") == "prov.h"


@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")
def test_a_program_builds_with_the_header_and_has_the_probes(tmp_path):
    include = "#include <sys/sdt.h>\n"
    if subprocess.run(
        ["gcc", "-E", "-"], input=include, capture_output=True, text=True, check=False
    ).returncode:
        pytest.skip("needs sys/sdt.h")
    (tmp_path / "prov.d").write_text(PROVIDER)
    code = "from pydtrace.cli.pydtrace.main import main; main(['-h', '-s', 'prov.d'])"
    command = [sys.executable, "-c", code]
    subprocess.run(command, cwd=tmp_path, check=True)
    source = '#include "prov.h"\nint main(void) { MY_PROV_NOTHING(); MY_PROV_START_UP(1, "x"); MY_PROV_VD();\n'
    (tmp_path / "t.c").write_text(source + "return MY_PROV_VD_ENABLED(); }\n")
    subprocess.run(["gcc", "-Wall", "-Werror", "-o", "t", "t.c"], cwd=tmp_path, check=True)
    assert subprocess.run([tmp_path / "t"], check=False).returncode == 0
    notes = subprocess.run(
        ["readelf", "-n", "t"], cwd=tmp_path, capture_output=True, text=True, check=True
    ).stdout
    assert [line.split()[1] for line in notes.splitlines() if " Name: " in line] == [
        "nothing",
        "start__up",
        "vd",
    ]


def test_arguments_have_the_types_of_the_provider():
    text = """
    typedef struct info { int n; string path; } info_t;
    translator info_t <int v> { n = v + 1; path = "x"; };
    provider web { probe start(char *path, int code) : (int code, char *path); probe two(int v) : (info_t v); };
    web*:::start { trace(args[0]); printf("%s", stringof(args[1])); }
    web1:::two { trace(args[0].n); }
    pyusdt*:::user_trace-i4s4 { printf("%s", stringof(args[6])); }
    """
    first, second, third = compile_program(text).clauses
    assert first.demand == {0: 256, 1: 0}
    assert second.demand == {0: 0}
    assert third.demand == {6: 256}
