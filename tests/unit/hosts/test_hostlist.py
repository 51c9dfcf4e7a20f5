"""Lists of names of hosts."""

import os
import subprocess
import sys
from types import SimpleNamespace

import pytest

from pydtrace.hosts.hostlist import MAX_HOSTS, BadHostList, parse_hosts
from tests.support import pip_packages

pytestmark = pytest.mark.own_processes


@pytest.fixture
def alone(monkeypatch):
    """Without ClusterShell, wherever the tests run."""
    monkeypatch.setitem(__import__("sys").modules, "ClusterShell.NodeSet", None)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("a", "a"),
        ("a,b,a", "a b"),
        ("web[1-3,7],db", "web1 web2 web3 web7 db"),
        ("n[08-11]", "n08 n09 n10 n11"),
        ("n[8-11]", "n8 n9 n10 n11"),
        ("r[1-2]n[1-2].x", "r1n1.x r1n2.x r2n1.x r2n2.x"),
        ("me@host-1.example.org:22", "me@host-1.example.org:22"),
        ("a,,b", "a b"),
        ("pod/web-5f[0-1]", "pod/web-5f0 pod/web-5f1"),
    ],
)
def test_lists_of_hosts(text, names, alone):
    assert parse_hosts(text) == names.split()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no host is named"),
        (",", "no host is named"),
        ("a[1-", "'a[1-' is not a host name"),
        ("a[3-1]", "a[3-1]: '3-1' is no range"),
        ("a[x]", "a[x]: 'x' is no range"),
        ("a b", "'a b' is not a host name"),
        ("-oProxyCommand=x", "is not a host name"),
        ("a;b", "is not a host name"),
        ("$(x)", "is not a host name"),
        ("@web", "@web: groups need ClusterShell"),
        ("a[1-999999999]", f"more than {MAX_HOSTS} hosts"),
        ("a[1-9999999999]", "is no range"),
    ],
)
def test_what_is_no_list(text, message, alone):
    with pytest.raises(BadHostList) as caught:
        parse_hosts(text)
    assert message in str(caught.value)


def test_cluster_shell_reads_the_list_where_it_is(monkeypatch):
    """A stand-in: the package is none of ours."""
    made = SimpleNamespace(NodeSet=lambda text: ["x1", "x2"] if text == "@web" else 1 / 0)
    monkeypatch.setitem(sys.modules, "ClusterShell.NodeSet", made)
    monkeypatch.setitem(sys.modules, "ClusterShell", SimpleNamespace(NodeSet=made))
    assert parse_hosts("@web") == ["x1", "x2"]
    with pytest.raises(BadHostList, match="@other: ClusterShell cannot read it: division by zero"):
        parse_hosts("@other")


@pytest.mark.long
def test_cluster_shell_itself(tmp_path):
    """Lists, and groups out of its own file; what it can not read, for whatever reason, is a message."""
    (tmp_path / "groups.conf").write_text(
        '[Main]\ndefault: mine\n[mine]\nmap: [ $GROUP = web ] && echo "web[1-3]"\nlist: echo web\n'
    )
    folder = pip_packages.folder_of(
        os.path.join(os.path.dirname(__file__), "clustershell_readers.txt"), depends=True
    )
    ask = "import sys\nfrom pydtrace.hosts.hostlist import BadHostList, parse_hosts\ntry: print(*parse_hosts(sys.argv[1]))\nexcept BadHostList as error: print(error)"

    def said(text):
        environment = {**os.environ, "PYTHONPATH": folder, "CLUSTERSHELL_CFGDIR": str(tmp_path)}
        return subprocess.run(
            [sys.executable, "-c", ask, text],
            capture_output=True,
            text=True,
            env=environment,
            check=True,
            timeout=60,
        ).stdout.strip()

    assert said("web[1-3,7-9/2],db[01-03]!db02") == "db01 db03 web1 web2 web3 web7 web9"
    assert said("@web,db1") == "db1 web1 web2 web3"
    for text, why in (
        ("a[", "missing bracket"),
        ("@none", "ClusterShell cannot read it"),
        ("@other:web", "ClusterShell cannot read it"),
        ("$(x)", "is not a host name"),
    ):
        assert why in said(text), (text, said(text))
