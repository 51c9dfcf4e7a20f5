"""The generator: its committed files are up to date, and it reports what it cannot do."""

import importlib.util
import os

import pytest

from tests.support.paths import ROOT

SPEC = importlib.util.spec_from_file_location(
    "generate", os.path.join(ROOT, "c", "generators", "generate_user_trace.py")
)
generate = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(generate)

USER_TRACE = generate.Path(ROOT, "include", "user_trace.d")


def provider(tmp_path, probes: str, name: str | None = None):
    path = tmp_path / "shop.d"
    path.write_text(f"provider shop {{ {probes} }};")
    return generate.read_provider(path, name)


def test_committed_files_are_up_to_date(tmp_path):
    docs, stub = (
        generate.Path(ROOT, "docs", "reference", "probes.md"),
        generate.Path(ROOT, "src", "pyusdt", "_core.pyi"),
    )
    python = generate.Path(ROOT, "src", "pydtrace", "program", "user_trace.py")
    changed = generate.generate(
        USER_TRACE, tmp_path, stub=stub, docs=docs, check=True, python=python
    )
    assert [path.name for path in changed] == [
        "user_trace.inc",
        "user_trace.h",
        "user_trace_dtrace.d",
        "user_trace_dtrace.inc",
    ], "run `make build` and commit"


def test_user_trace_is_in_otps_order():
    probes = generate.read_provider(USER_TRACE).probes
    assert [probe.d_name for probe in probes] == [
        "user_trace-s1",
        "user_trace-i4s4",
        *(f"user_trace-n{n}" for n in range(951)),
    ]
    assert [argument.name for argument in probes[0].arguments] == ["message"]
    for probe in probes[1:]:
        assert [(argument.name, argument.size) for argument in probe.arguments] == [
            ("proc", 8),
            ("user_tag", 8),
            ("i1", -8),
            ("i2", -8),
            ("i3", -8),
            ("i4", -8),
            ("s1", 8),
            ("s2", 8),
            ("s3", 8),
            ("s4", 8),
        ]


def test_provider_name_is_a_macro():
    assert generate.read_provider(USER_TRACE).name == "pyusdt"
    assert generate.read_provider(USER_TRACE, "erlang").name == "erlang"


def test_types(tmp_path):
    made = provider(
        tmp_path, "probe a(int8_t a, uint16_t b, int c, unsigned int d, long e, void *f, string g);"
    )
    assert [argument.size for argument in made.probes[0].arguments] == [-1, 2, -4, 4, -8, 8, 8]
    assert made.probes[0].string_mask == 1 << 6


def test_families(tmp_path):
    made = provider(
        tmp_path,
        "probe a_n0(int x); probe a_n1(int x); probe a_n3(int x); probe a_n4(int y);"
        "probe b_n1(int x); probe c(); probe d_n0(int x);",
    )
    assert [[probe.note_name for probe in family] for family in generate.families(made)] == [
        ["a_n0", "a_n1"],
        ["a_n3"],
        ["a_n4"],
        ["b_n1"],
        ["c"],
        ["d_n0"],
    ]


@pytest.mark.parametrize(
    ("probes", "message"),
    [
        ("probe a(struct x *);", "an argument|no integer"),
        ("probe a(double x);", "no integer, string or pointer"),
        ("probe a(int);", "needs a type and a name"),
        ("probe a(int x); probe a(int y);", "declared twice"),
        ("probe a(int x); what is this", "not understood: what is this"),
        (
            "probe a(" + ", ".join(f"int x{i}" for i in range(13)) + ");",
            "13 arguments, 12 are possible",
        ),
    ],
)
def test_what_is_no_provider(probes, message, tmp_path):
    with pytest.raises(generate.ProviderError, match=message):
        provider(tmp_path, probes)


def test_no_provider_at_all(tmp_path):
    path = tmp_path / "empty.d"
    path.write_text("/* nothing */")
    with pytest.raises(generate.ProviderError, match="no provider"):
        generate.read_provider(path)
