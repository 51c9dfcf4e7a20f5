"""The suites of frameworks pass or fail the same with probes in them, while nobody traces and while all of it is traced.

Input: the sources of the versions that requirements-dev.txt names, with what their suites need,
from the registry.

- All parts of pyusdt.instrument are on, and every event of theirs is counted when it is traced.
"""

from __future__ import annotations

import glob
import os
import re
import sys
from importlib.metadata import version

import pytest

from tests.support import harness
from tests.support.instrument_scripts import PYUSDT

pytestmark = [pytest.mark.xdist_group("integration/test_instrument_suites"), pytest.mark.long]
PYTEST = "-m pytest -q -rfE -p no:cacheprovider -p no:randomly"
DJANGO = "requests_tests handlers wsgi asgi test_client middleware urlpatterns basic backends transactions logging_tests"
OF_ONE_SERVER = (
    "not((redismod)or(onlycluster)or(ssl)or(cp_integration)or(multidb_integration)or(replica))"
)
REDIS = " ".join(
    f"tests/test_{name}.py"
    for name in ("commands", "pipeline", "lock", "scripting", "encoding", "multiprocessing")
)
REDIS += " tests/test_asyncio/test_pipeline.py tests/test_asyncio/test_commands.py"
RQ = " ".join(
    f"tests/test_{name}.py"
    for name in ("job", "queue", "callbacks", "results", "repeat", "dependencies", "job_lifecycle")
)
AIOHTTP = " ".join(
    f"tests/test_{name}.py"
    for name in (
        "web_functional",
        "client_functional",
        "web_protocol",
        "web_server",
        "web_app",
        "web_urldispatcher",
    )
)
SUITES = {  # the folder below the sources, and the command
    "django": ("tests", f"runtests.py --parallel 1 {DJANGO}"),
    "starlette": ("", f"{PYTEST} tests"),
    "flask": ("", f"{PYTEST} tests"),
    "celery": (
        "",
        f"{PYTEST} -p celery.contrib.pytest t/unit/app t/unit/tasks t/unit/concurrency t/unit/worker",
    ),
    "redis": ("", f"{PYTEST} -o filterwarnings=default -m {OF_ONE_SERVER} {REDIS}"),
    "rq": ("", f"{PYTEST} {RQ}"),
    "aiohttp": (
        "",
        f"{PYTEST} -c /dev/null --rootdir=. -m not((dev_mode)or(autobahn)or(internal)) {AIOHTTP}",
    ),
}
NEEDED = [
    "python-multipart",
    "pyyaml",
    "blockbuster",
    "forbiddenfruit",
    "pytest-subtests",
    "pytest-timeout",
    "pytest-click",
    "pytest-order",
    "pytest-rerunfailures",
    "freezegun",
    "python-dateutil",
    "six",
    "msgpack",
    "httpx2",
    "httpcore2",
    "truststore",
    "pydantic",
    "pydantic-core",
    "annotated-types",
    "typing-inspection",
]
MORE = {  # for one suite alone: plugins that others would find, too
    "redis": ["pytest-asyncio", "pytest-timeout", "pybreaker", "pyjwt"],
    "aiohttp": ["pytest-mock", "trustme", "blockbuster", "forbiddenfruit", "isal", "zlib_ng"],
}
# A network of its own, with a Redis where these suites look for it: a command, and its words.
NETWORK = [
    "unshare",
    "--net",
    "sh",
    "-c",
    """
ip link set lo up
redis-server --port 6379 --save '' --appendonly no --dir /tmp >/dev/null &
trap "kill $!" EXIT
until redis-cli ping >/dev/null 2>&1; do sleep 0.1; done
"$@" """,
    "sh",
]
# It looks whether nobody else uses the hook of Django's that we use.
SEEN = "FAIL: test_wrapper_connection_specific"
PROVIDERS = ("http", "db", "client", "cache", "task", "pool", "process", "loop", "log")
SCRIPT = ", ".join(f"{name}*:::" for name in PROVIDERS) + " { @[probeprov] = count(); }"


def install(*arguments: str) -> None:
    done = harness.run(
        [sys.executable, "-m", "pip", "--disable-pip-version-check", *arguments], timeout=600
    )
    if done.status != 0:
        pytest.skip(f"host: the registry has not all of it: {done.stderr[-200:]}")


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    """The folder of what the suites need beside; the sources are below it, each when it is asked for."""
    folder = tmp_path_factory.mktemp("suites")
    install("install", "-q", "--no-deps", "--target", str(folder / "needed"), *NEEDED)
    return folder


def surroundings(folder, name: str) -> tuple[list[str], str]:
    """What stands before a suite's commands, and the folder of what it alone needs; both may be empty."""
    if name in MORE:
        install(
            "install", "-q", "--no-deps", "--target", str(folder / f"needed-{name}"), *MORE[name]
        )
    if name not in ("redis", "rq", "aiohttp"):
        return [], ""
    if os.geteuid() != 0:
        pytest.skip("host: not root")
    if lacking := harness.tools("redis-server", "redis-cli", "unshare", "ip"):
        pytest.skip(f"no {lacking}")
    return NETWORK, str(folder / f"needed-{name}")


def fetched(folder, name: str) -> str:
    install(
        "download",
        "-q",
        "--no-deps",
        "--no-binary",
        ":all:",
        "-d",
        str(folder),
        f"{name}=={version(name)}",
    )
    assert (
        harness.run(
            ["tar", "-xzf", glob.glob(f"{folder}/{name}-*.tar.gz")[0], "-C", str(folder)], 60
        ).status
        == 0
    )
    return glob.glob(f"{folder}/{name}-*/")[0]


def outcome(run: harness.Run) -> list[str]:
    """["2434 passed, 24 skipped"], or ["Ran 197 tests", "OK"]; and the names of what failed; how many warnings there are may differ."""
    text = re.sub(r", \d+ warnings?", "", run.stdout + run.stderr)
    told = re.findall(
        r"^(\d+ (?:passed|failed)[^\n]*?) in [\d.]+s|^(Ran \d+ tests)|^(OK|FAILED)( \([^\n]*\))?$|^((?:FAILED|ERROR|FAIL:) [\w:./-]+)",
        text,
        re.MULTILINE,
    )
    return sorted("".join(each) for each in told)


def same(found: list[str], alone: list[str]) -> bool:
    """Nothing else fails, and as many tests ran."""
    if SEEN in found:
        found = [
            re.sub(r"^FAILED \(failures=1(, )?", "OK (", line) for line in found if line != SEEN
        ]
    return found == alone != []


@pytest.mark.parametrize("name", SUITES)
def test_suite(sources, name):
    below, arguments = SUITES[name]
    around, more = surroundings(sources, name)
    folder = os.path.join(fetched(sources, name), below)
    path = [
        each
        for each in (more, str(sources / "needed"), os.path.dirname(folder.rstrip("/")))
        if each
    ]
    python, options = (
        sys.executable,
        {
            "cwd": folder,
            "timeout": 1800,
            "env": {**os.environ, "PYTHONHASHSEED": "0", "PYTHONPATH": os.pathsep.join(path)},
        },
    )
    alone = harness.run([*around, python, *arguments.split()], **options)
    with_hooks = harness.run([*around, PYUSDT, "run", python, *arguments.split()], **options)
    traced = harness.run(
        [
            *around,
            harness.PYDTRACE,
            "-Zq",
            "-n",
            SCRIPT,
            "-c",
            f"{PYUSDT} run {python} {arguments}",
        ],
        **options,
    )
    for run in (with_hooks, traced):
        assert same(outcome(run), outcome(alone)), (alone, run)
    counted = re.findall(r"^  (\w+) +([1-9]\d*)$", traced.stdout, re.MULTILINE)
    assert counted, traced
    print(name, outcome(alone), counted)  # for tests/results/long-tests.md
