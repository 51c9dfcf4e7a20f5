"""The text about the versions: Python and the platform of a build."""

import platform
import sys
import sysconfig

import pytest

from pydtrace.cli.pydtrace.usage import describe_python


@pytest.mark.parametrize(
    ("libc", "settings", "gil", "end"),
    [
        (("glibc", "2.36"), {"HOST_GNU_TYPE": "x86_64-pc-linux-gnu"}, "", ", glibc 2.36"),
        (("libc", ""), {"HOST_GNU_TYPE": "x86_64-pc-linux-musl"}, "", ", musl"),
        (("musl", "1.2.5"), {"HOST_GNU_TYPE": "x86_64-pc-linux-musl"}, "", ", musl 1.2.5"),
        (("", ""), {"Py_GIL_DISABLED": 1}, " without the GIL", ""),
    ],
)
def test_python_and_platform(monkeypatch, libc, settings, gil, end):
    monkeypatch.setattr(platform, "libc_ver", lambda: libc)
    monkeypatch.setattr(sysconfig, "get_config_var", settings.get)
    python = f"{platform.python_implementation()} {platform.python_version()}{gil}"
    assert describe_python() == f"{python}, {sys.platform} {platform.machine()}{end}"
