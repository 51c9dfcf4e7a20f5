"""The kernel's types as the real dtrace has them: members of its structs, arguments of its system calls.  Long: dtrace reads them anew
each time."""

import os
import re
import subprocess

import pytest

from pydtrace.dlang.types.kernel_btf import KernelTypeResolver
from pydtrace.engine.kernel.kernel_structs import BTF, KernelBtf
from pydtrace.program import d_types as t
from tests.support.kernel_harness import pydtrace
from tests.support.paths import ORACLE

pytestmark = [
    pytest.mark.long,
    pytest.mark.usefixtures("bpf"),
    pytest.mark.skipif(not os.path.exists(BTF), reason="host: the kernel has no type information"),
]
AT_ONCE = 60  # members in a script: dtrace's programs have an end
ROW = re.compile(r"\s*\d+\s+syscall\s+\S+\s+(\S+)\s+(\S+)$")


def dtrace(*words):
    return subprocess.run(
        [ORACLE, "dtrace", *words],
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
        stdin=subprocess.DEVNULL,
    ).stdout


@pytest.mark.parametrize(
    "tag",
    [
        "task_struct",
        "sock",
        "sk_buff",
        "tcp_sock",
        "file",
        "inode",
        "dentry",
        "mm_struct",
        "cred",
        "request",
        "bio",
        "net_device",
        "vm_area_struct",
        "page",
        "signal_struct",
        "super_block",
    ],
)
def test_sizes_and_places_of_members(tag):
    """All but bit-fields, which have no place, and what has no size: both refuse to tell it."""
    names = [
        name
        for name, field in KernelTypeResolver(KernelBtf())
        .find_tagged("struct", tag)
        .body.fields.items()
        if field.width is None and t.embedded_size(field.type)
    ]
    assert len(names) > 15
    for at in range(0, len(names), AT_ONCE):
        script = (
            "".join(
                f'BEGIN {{ printf("{name} %d %d\\n", sizeof(((struct {tag} *)0)->{name}), offsetof(struct {tag}, {name})); }}\n'
                for name in names[at : at + AT_ONCE]
            )
            + "BEGIN { exit(0); }"
        )
        out, err, _ = pydtrace("-qn", script)
        assert out.count("\n") >= len(names[at : at + AT_ONCE]) and out == dtrace("-qn", script), (
            err
        )


def arguments(listing):
    """{(system call, side, "args[i]"): type} of what -lv prints."""
    found, side = {}, None
    for line in listing.split("\n"):
        if match := ROW.match(line):
            side = match.groups()
        elif side and line.strip().startswith("args["):
            name, _, type = line.strip().partition(": ")
            found[(*side, name)] = type
    return found


def test_arguments_of_all_system_calls():
    """dtrace calls a gid_t or a uid_t by its base where a pointer leads to one, at times."""
    out, _, _ = pydtrace("-lvP", "syscall")
    ours, theirs = arguments(out), arguments(dtrace("-lvP", "syscall"))
    assert len(ours) > 1000 and ours.keys() == theirs.keys()
    assert {(ours[key], theirs[key]) for key in ours if ours[key] != theirs[key]} <= {
        (f"{word} *", "unsigned int *") for word in ("gid_t", "uid_t")
    }
