"""The application: how it is built, what it takes the place of, and what it does where its library can not be loaded."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tarfile

import pytest

from tests.support import harness

NIF = os.path.join(harness.ROOT, "erlang_nif")
# all that src/ has
MODULES = sorted(
    name[: -len(".erl")] for name in os.listdir(os.path.join(NIF, "src")) if name.endswith(".erl")
)
WHERE = 'io:format("~ts ~p~n", [element(2, code:is_loaded(dyntrace)), dyntrace:p(1, "a")])'


@pytest.fixture(scope="session")
def rebar3(erlang):
    """rebar3(ARG …) -> Run, in erlang_nif or another folder."""
    if harness.tools("rebar3"):
        pytest.skip("no rebar3")

    def run(*arguments: str, cwd: str | os.PathLike[str] = NIF) -> harness.Run:
        path = os.path.dirname(harness.PYDTRACE) + os.pathsep + os.environ["PATH"]
        environment = {**os.environ, "TERM": "dumb", "PATH": path}
        return harness.run(["rebar3", *arguments], timeout=300, cwd=cwd, env=environment)

    return run


def test_rebar3_builds_what_make_builds(rebar3, erlang):
    """Twice, since rebar3 makes the list of modules from what it finds in ebin/, where dyntrace.beam has been put."""
    for _ in range(2):
        built = rebar3("compile")
        assert built.status == 0, built
    folder = os.path.join(NIF, "_build", "default", "lib", "pyusdt")
    assert sorted(os.listdir(f"{folder}/ebin")) == sorted(os.listdir(erlang.ebin))
    for application in (f"{folder}/ebin/pyusdt.app", f"{erlang.ebin}/pyusdt.app"):
        with open(application) as file:
            modules = re.search(r"{modules,\s*\[(.*?)\]}", file.read(), re.DOTALL)[1]
        assert sorted(modules.replace(",", " ").split()) == MODULES
    run = harness.run(
        ["erl", "-noshell", "-pa", f"{folder}/ebin", "-eval", f"dyntrace:p(), {WHERE}, halt()."]
    )
    assert run.stdout == f"{folder}/ebin/dyntrace.beam false\n", run


def test_a_project_that_depends_on_it(rebar3, erlang, tmp_path):
    """As docs/howto/trace-erlang.md says: a checkout, whose library and modules the project's own code finds."""
    (tmp_path / "src").mkdir()
    (tmp_path / "_checkouts").mkdir()
    (tmp_path / "_checkouts" / "pyusdt").symlink_to(NIF)
    (tmp_path / "rebar.config").write_text("{deps, [pyusdt]}.\n")
    (tmp_path / "src" / "shop.app.src").write_text(
        '{application, shop, [{description, "a shop"}, {vsn, "1"}, {applications, [kernel, stdlib, pyusdt]}]}.\n'
    )
    (tmp_path / "src" / "shop.erl").write_text("""-module(shop).
-export([main/0]).
main() ->
    {ok, H} = erltrace:script("erlang$target:::user_trace-i4s4 { @[copyinstr(arg6)] = sum(arg2); }"),
    ok = erltrace:go(H),
    [true = dyntrace:p(N, "apple") || N <- [1, 2, 3]],
    ok = erltrace:stop(H),
    {ok, [{"_", [{sum, ["apple"], 6}]}]} = erltrace:snapshot(H).
""")
    built = rebar3("compile", cwd=tmp_path)
    assert built.status == 0, built
    folders = [str(path) for path in (tmp_path / "_build" / "default").glob("*/*/ebin")]
    run = erlang.evaluate(
        "{ok, _} = application:ensure_all_started(shop), shop:main(), io:format(done)",
        "-pa",
        *folders,
        env={
            **os.environ,
            "PATH": os.path.dirname(harness.PYDTRACE) + os.pathsep + os.environ["PATH"],
        },
    )
    assert run.stdout == "done", run


@pytest.fixture(scope="session")
def package(erlang, tmp_path_factory):
    """unpack(folder): what `make package` makes, unpacked there; its path."""
    made = harness.run(["make", "-s", "-C", NIF, "package"], timeout=120)
    assert made.status == 0, made

    def unpack(folder) -> str:
        with tarfile.open(os.path.join(NIF, "build", "pyusdt-0.1.0.tar.gz")) as file:
            file.extractall(folder, filter="data")
        return os.path.join(folder, "pyusdt")

    return unpack


@pytest.fixture
def path_without_python(tmp_path) -> str:
    """A PATH with what a project needs to build it, and nothing else."""
    needs = "sh make cc gcc as ld sed cp mkdir rm touch uname tr cat expr env dirname basename readlink tar"
    found = tmp_path / "bin"
    found.mkdir()
    for name in (*needs.split(), "erl", "erlc", "escript", "elixir", "mix", "rebar3"):
        if program := shutil.which(name):
            (found / name).symlink_to(program)
    return str(found)


AVAILABLE = "true = pyusdt:available(), true = dyntrace:available(), ok = pyusdt_vm:enable(), io:format(done)"


def test_rebar3_with_the_package(rebar3, erlang, package, path_without_python, tmp_path):
    package(tmp_path / "_checkouts")
    (tmp_path / "src").mkdir()
    (tmp_path / "rebar.config").write_text("{deps, [pyusdt]}.\n")
    (tmp_path / "src" / "shop.app.src").write_text(
        '{application, shop, [{description, "a shop"}, {vsn, "1"}, {applications, [kernel, stdlib, pyusdt]}]}.\n'
    )
    environment = {**os.environ, "TERM": "dumb", "PATH": path_without_python}
    built = harness.run(["rebar3", "compile"], timeout=300, cwd=tmp_path, env=environment)
    assert built.status == 0, built
    folders = [str(path) for path in (tmp_path / "_build" / "default").glob("*/*/ebin")]
    run = erlang.evaluate(AVAILABLE, "-pa", *folders)
    assert "done" in run.stdout, run


def test_mix_with_the_package(package, path_without_python, tmp_path):
    """Without rebar3, too."""
    if lacking := harness.tools("mix"):
        pytest.skip(f"no {lacking}")
    os.unlink(f"{path_without_python}/rebar3")
    package(tmp_path / "vendor")
    (tmp_path / "mix.exs").write_text("""defmodule Shop.MixProject do
  use Mix.Project
  def project, do: [app: :shop, version: "1.0.0", deps: [{:pyusdt, path: "vendor/pyusdt"}]]
end
""")
    environment = {**os.environ, "PATH": path_without_python, "HOME": str(tmp_path)}
    script = "IO.inspect({:pyusdt.available(), :dyntrace.available(), :pyusdt_vm.enable()})"
    for _ in range(2):  # the second one finds it built
        run = harness.run(["mix", "run", "-e", script], timeout=300, cwd=tmp_path, env=environment)
        assert run.status == 0 and "{true, true, :ok}" in run.stdout, run


def test_the_package_is_whole(package, tmp_path):
    """Its version, and each file that Hex is asked to take."""
    folder = package(tmp_path)
    with open(os.path.join(NIF, "src", "pyusdt.app.src")) as file:
        text = file.read()
    files = re.findall(r'"([^"]+)"', re.search(r"{files,\s*\[(.*?)\]}", text, re.DOTALL)[1])
    assert sorted(files) == sorted(os.listdir(folder))
    with open(os.path.join(NIF, "mix.exs")) as file:
        assert re.search(r'version: "(.*?)"', file.read())[1] == "0.1.0"
    assert '{vsn, "0.1.0"}' in text


def test_eunit(rebar3):
    run = rebar3("eunit")
    assert run.status == 0 and " 0 failures" in run.stdout, run


def test_common_test(rebar3):
    """erltrace: a node that traces itself, with whatever ends first."""
    run = rebar3("ct")
    assert run.status == 0 and re.search(r"All \d+ tests passed", run.stdout), run


def test_dialyzer(rebar3):
    run = rebar3("dialyzer")
    assert run.status == 0, run


def test_documentation(rebar3, erlang, tmp_path):
    """edoc takes every comment."""
    sources = [
        os.path.join(NIF, folder, name)
        for folder in ("src", "otp")
        for name in os.listdir(f"{NIF}/{folder}")
        if name.endswith(".erl")
    ]
    files = ", ".join(f'"{path}"' for path in sources)
    run = erlang.evaluate(f'edoc:files([{files}], [{{dir, "{tmp_path}"}}, {{preprocess, true}}])')
    assert run.status == 0 and "error" not in (run.stdout + run.stderr).lower(), run


# ---- in the place of OTP's module ----


def test_found_first_with_pa(erlang):
    run = erlang.evaluate(f"dyntrace:available(), {WHERE}", "-pa", erlang.ebin)
    assert run.stdout == f"{erlang.ebin}/dyntrace.beam false\n", run


def test_start_loads_it_over_otps(erlang):
    """Where OTP's comes first in the path and is loaded already, with its own library."""
    run = erlang.evaluate(
        f"false = dyntrace:available(), ok = application:start(pyusdt), true = dyntrace:available(), {WHERE}",
        "-pz",
        erlang.ebin,
    )
    assert re.fullmatch(r"\S+/priv/otp/dyntrace(\.beam)? false\n", run.stdout), run


@pytest.fixture(scope="session")
def release(erlang, tmp_path_factory):
    """A release with runtime_tools and pyusdt in it, made by systools and unpacked: its folder."""
    folder = tmp_path_factory.mktemp("release")
    library = folder / "lib" / "pyusdt-0.1.0"
    shutil.copytree(erlang.ebin, library / "ebin")
    shutil.copytree(os.path.join(NIF, "priv"), library / "priv")
    made = erlang.evaluate(
        "Vsn = fun(App) -> _ = application:load(App), {ok, V} = application:get_key(App, vsn), {App, V} end,"
        'Release = {release, {"shop", "1"}, {erts, erlang:system_info(version)},'
        " [Vsn(App) || App <- [kernel, stdlib, sasl, runtime_tools, pyusdt]]},"
        'ok = file:write_file("shop.rel", io_lib:format("~p.~n", [Release])),'
        'Path = [filename:join([code:lib_dir(App), "ebin"]) || App <- [kernel, stdlib, sasl, runtime_tools]]'
        ' ++ ["lib/pyusdt-0.1.0/ebin"],'
        'ok = systools:make_script("shop", [{path, Path}, no_warn_sasl]),'
        'ok = systools:make_tar("shop", [{path, Path}])',
        "-pa",
        str(library / "ebin"),
        cwd=folder,
    )
    assert made.status == 0 and os.path.exists(folder / "shop.tar.gz"), made
    unpacked = folder / "unpacked"
    with tarfile.open(folder / "shop.tar.gz") as archive:
        archive.extractall(unpacked)
    return unpacked


def boot(release, *options: str) -> list[str]:
    """The command line that starts the release: as a release's own script does, but with the installed emulator."""
    asked = 'io:put_chars(filename:join([code:root_dir(), "erts-" ++ erlang:system_info(version), "bin"])), halt().'
    binaries = harness.run(["erl", "-noshell", "-eval", asked]).stdout
    variables = [f"ROOTDIR={release}", f"BINDIR={binaries}", "EMU=beam", "PROGNAME=erl"]
    return [
        "env",
        *variables,
        f"{binaries}/erlexec",
        "-noshell",
        "-boot",
        f"{release}/releases/1/start",
        *options,
    ]


@pytest.mark.parametrize("mode", ["embedded", "interactive"])
def test_release_that_contains_runtime_tools(release, mode):
    """It is made without a clash, and has ours in the place of OTP's once it runs."""
    assert len(list(release.glob("lib/runtime_tools-*/ebin/dyntrace.beam"))) == 1
    assert not (release / "lib/pyusdt-0.1.0/ebin/dyntrace.beam").exists()
    run = harness.run(
        [*boot(release, "-mode", mode), "-eval", f"true = dyntrace:available(), {WHERE}, halt()."]
    )
    assert re.fullmatch(
        rf"{release}/lib/pyusdt-0\.1\.0/priv/otp/dyntrace(\.beam)? false\n", run.stdout
    ), run


def test_release_is_traced(release):
    node = boot(
        release,
        "-mode",
        "embedded",
        "-run",
        "dyntrace",
        "user_trace_s1",
        "shop",
        "-run",
        "init",
        "stop",
    )
    program = 'erlang*:::user_trace-s1 { printf("%s", copyinstr(arg0)); }'
    run = harness.run(
        [harness.PYDTRACE, "-qZ", "-x", "engine=embedded", "-n", program, "-c", " ".join(node)]
    )
    assert run.stdout.strip() == "shop", run


# ---- without the library ----

ANSWERS = (
    'io:format("~p~n", [{dyntrace:available(), dyntrace:p(1, "a"), dyntrace:pn(1, 1), dyntrace:user_trace_s1("a"),'
    ' dyntrace:put_tag("t"), dyntrace:get_tag(), pyusdt:p(), pyusdt:enabled()}])'
)


@pytest.fixture(params=["missing", "not a library", "for another emulator"])
def broken(erlang, tmp_path, request):
    """A copy of the application whose library can not be loaded."""
    shutil.copytree(erlang.ebin, tmp_path / "ebin")
    if request.param != "missing":
        (tmp_path / "priv").mkdir()
        library = tmp_path / "priv" / "pyusdt_nif.so"
        if request.param == "not a library":
            library.write_text("nothing")
        else:
            source = tmp_path / "other.c"
            source.write_text("int other;")
            subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=True)
    return str(tmp_path / "ebin")


def test_answers_false_and_says_so_once(erlang, broken):
    run = erlang.evaluate(f"{ANSWERS}, {ANSWERS}, timer:sleep(200)", "-pa", broken)
    answers = '{false,false,false,false,undefined,<<"t">>,false,false}'
    lines = run.stdout.splitlines() + run.stderr.splitlines()
    assert (
        answers in lines and len([line for line in lines if "no probes in this node" in line]) == 1
    ), run
    assert run.status == 0 and "crash" not in run.stdout.lower(), run


def test_without_a_run_directory(erlang, tmp_path):
    """Probes are off for pydtrace, and the node does not mind."""
    wrong = tmp_path / "file"
    wrong.write_text("")
    run = erlang.evaluate(
        'io:format("~p", [{dyntrace:available(), dyntrace:p(1)}])',
        "-pa",
        erlang.ebin,
        env={**os.environ, "PYUSDT_RUNDIR": str(wrong)},
    )
    assert run.stdout == "{true,false}", run
