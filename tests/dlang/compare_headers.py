"""In the oracle's chroot: what dtrace and pydtrace say of scripts that include one header each.

    compare_headers.py COUNT FOLDER     COUNT headers, or "all", in an order that is the same each time; FOLDER: for the scripts

Output: a JSON array of [header, what dtrace said of it, what pydtrace said]: the first line of
each, or "exit 0". Headers that gcc does not take by themselves are left out. The answers are kept
in FOLDER/rows as they come: a run of the same folder goes on where one was ended.
"""

import concurrent.futures
import json
import os
import random
import subprocess
import sys

from pydtrace.cli.pydtrace.main import main

INCLUDE = "/usr/include"
EACH = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "oracle", "each.c")
OPTIONS = ["-e", "-C", "-s"]
AT_ONCE = 50  # scripts that one dtrace is given


def headers():
    """As `#include <…>` names them."""
    found = set()
    for place, folders, names in os.walk(INCLUDE):
        folders[:] = [name for name in folders if name != "c++"]
        found |= {
            os.path.relpath(os.path.join(place, name), INCLUDE)
            for name in names
            if name.endswith(".h")
        }
    machine = f"{os.uname().machine}-linux-gnu/"
    return sorted({name.removeprefix(machine) for name in found})


def gcc_takes(header):
    command = ["gcc", "-fsyntax-only", "-xc", "-"]
    done = subprocess.run(
        command, input=f"#include <{header}>\n", text=True, stderr=subprocess.DEVNULL, check=False
    )
    return done.returncode == 0


def first(output, path):
    """The first line that one of them said, with the path as it says it of a script of its own."""
    lines = output.rstrip("\n").split("\n")
    return lines[0].replace(f"compile script {path}:", "compile script:")


def by_dtrace(scripts, folder):
    """{script: what dtrace said}"""
    library, listed = os.path.join(folder, "each.so"), os.path.join(folder, "list")
    subprocess.run(
        ["gcc", "-D_GNU_SOURCE", "-shared", "-fPIC", "-O2", "-Wall", "-o", library, EACH],
        check=True,
    )
    with open(listed, "w", encoding="utf-8") as file:
        file.write("\n".join(["each", *scripts, ""]))
    command = ["dtrace", "-xsyslibdir=/opt/dlib", *OPTIONS, listed]
    environment = {**os.environ, "LD_PRELOAD": f"/opt/keep_types.so {library}"}
    said = subprocess.run(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=environment,
        check=True,
    ).stdout
    parts, rest = {}, said
    for script in scripts:
        _, begun, rest = rest.partition(script + "\n")
        assert begun, f"{script}: dtrace said nothing"
        before, _, after = (
            rest.partition("\nexit ") if not rest.startswith("exit ") else ("", "", rest[5:])
        )
        status, _, rest = after.partition("\n")
        parts[script] = first(f"{before}\nexit {status}".lstrip("\n"), listed)
    return parts


def by_pydtrace(script, folder):
    """What pydtrace said, as a process of its own with this one's modules."""
    path = os.path.join(folder, "said")
    pid = os.fork()
    if pid == 0:
        output = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(output, 1)
        os.dup2(output, 2)
        main([*OPTIONS, script])
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    with open(path, encoding="utf-8") as file:
        return first(f"{file.read()}\nexit {status}".lstrip("\n"), script)


def sweep(count, folder):
    names = headers()
    random.Random(1).shuffle(names)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        taken = [name for name, good in zip(names, pool.map(gcc_takes, names)) if good][:count]
    kept = os.path.join(folder, "rows")
    rows = {}
    if os.path.exists(kept):
        with open(kept, encoding="utf-8") as file:
            rows = {row[0]: row for row in map(json.loads, file)}
    left = [name for name in taken if name not in rows]
    for at in range(0, len(left), AT_ONCE):
        more = beside(left[at : at + AT_ONCE], folder)
        rows.update((row[0], row) for row in more)
        with open(kept, "a", encoding="utf-8") as file:
            file.writelines(json.dumps(row) + "\n" for row in more)
    return [rows[name] for name in taken]


def beside(names, folder):
    """[[header, what dtrace said, what pydtrace said]]"""
    scripts = {name: os.path.join(folder, name.replace("/", "%") + ".d") for name in names}
    for name, script in scripts.items():
        with open(script, "w", encoding="utf-8") as file:
            file.write(f"#include <{name}>\nBEGIN {{ exit(0); }}\n")
    theirs = by_dtrace(list(scripts.values()), folder)
    return [[name, theirs[script], by_pydtrace(script, folder)] for name, script in scripts.items()]


if __name__ == "__main__":
    json.dump(sweep(None if sys.argv[1] == "all" else int(sys.argv[1]), sys.argv[2]), sys.stdout)
