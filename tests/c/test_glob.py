"""DTrace's globs, and the rule between the names of notes and of probes."""

import subprocess

import pytest

GLOBS = """
    ''              anything        1
    ''              ''              1
    *               ''              1
    *               anything        1
    **              x               1
    a               a               1
    a               b               0
    a               ''              0
    a               ab              0
    ?               a               1
    ?               ''              0
    a?c             abc             1
    a*c             ac              1
    a*c             abbbc           1
    a*c             abcd            0
    *c              abc             1
    a*b*c           aXbYc           1
    a*b*c           aXcYb           0
    *a*a*a*         aaa             1
    *a*a*a*         aa              0
    pyusdt*         pyusdt1234      1
    pyusdt          pyusdt1234      0
    user_trace-n?   user_trace-n7   1
    user_trace-n?   user_trace-n17  0
    [abc]           b               1
    [abc]           d               0
    [a-c]x          bx              1
    [a-c]x          dx              0
    [!a-c]          d               1
    [!a-c]          b               0
    [!a]            ''              0
    [a-]            -               1
    []a]            ]               1
    []a]            a               1
    [a\\]b]         ]               1
    n[0-9][0-9]     n42             1
    n[0-9][0-9]     n4x             0
    *[0-9]          user_trace-n950 1
    [abc            a               0
    [               [               0
    \\*             *               1
    \\*             a               0
    \\?x            ?x              1
    a\\             a               0
    a*\\*           ab*             1
    a*\\*           abc             0
"""


def ask(build, lines):
    run = subprocess.run(
        [build.program("glob_main")],
        input="\n".join(lines) + "\n",
        capture_output=True,
        text=True,
        check=True,
        timeout=20,
    )
    return run.stdout.splitlines()


def test_globs(build):
    cases = [
        [word.replace("''", "").replace("\\\\", "\\") for word in line.split()]
        for line in GLOBS.strip().splitlines()
    ]
    answers = ask(build, [f"glob\t{pattern}\t{string}" for pattern, string, _ in cases])
    assert [(*case[:2], answer) for case, answer in zip(cases, answers)] == [
        tuple(case) for case in cases
    ]


def test_glob_takes_no_exponential_time(build):
    assert ask(build, ["glob\t" + "*a" * 60 + "b\t" + "a" * 2000]) == ["0"]


@pytest.mark.parametrize(
    "note, name",
    [
        ("user_trace__i4s4", "user_trace-i4s4"),
        ("a__b__c", "a-b-c"),
        ("a_b", "a_b"),
        ("a___b", "a-_b"),
        ("", ""),
        ("__", "-"),
    ],
)
def test_note_and_name(build, note, name):
    assert ask(build, [f"d\t{note}", f"note\t{name}"]) == [
        f"{len(name)} {name}",
        f"{len(note)} {note}",
    ]


def test_names_that_do_not_fit(build):
    long = "x" * 64
    assert ask(build, [f"d\t{long}", f"d\t{long[1:]}", f"note\t{'-' * 32}"]) == [
        "-36 ",
        f"63 {long[1:]}",
        "-36 ",
    ]
