"""The running kernel's own types in D: what a program may name without a declaration."""

import os
import struct

import pytest

from pydtrace import _tracer
from pydtrace.dlang.compile import Compiler
from pydtrace.dlang.compile_errors import CompileError
from pydtrace.dlang.types.kernel_btf import KernelTypeResolver
from pydtrace.engine.kernel.kernel_structs import BTF, KernelBtf
from tests.support.compiler.bpf_machine import Machine

pytestmark = pytest.mark.skipif(
    not os.path.exists(BTF), reason="host: the kernel has no type information"
)


@pytest.fixture(scope="module")
def structs():
    return KernelBtf()


@pytest.fixture(scope="module")
def types(structs):
    return KernelTypeResolver(structs)


def compiled(text, structs):
    compiler = Compiler(kernel=structs)
    compiler.compile_text(text, "x.d")
    return compiler


def value_of(text, structs):
    """The constant that BEGIN traces."""
    compiler = compiled(f"BEGIN {{ trace({text}); }}", structs)
    return compiler.items[-1].body[0].expr.args[0].value


def refused(text, structs):
    with pytest.raises(CompileError) as caught:
        compiled(text, structs)
    return caught.value


@pytest.mark.parametrize(
    "name", ["task_struct", "sock", "bio", "request", "inet_connection_sock", "mm_struct", "cred"]
)
def test_members_are_where_the_kernel_has_them(name, structs, types):
    """Each member, those of unnamed structs too, as the reader in C finds it."""
    record = types.find_tagged("struct", name)
    found = {member: field.offset for member, field in record.body.fields.items()}
    assert len(found) > 5 and found == {
        member: structs.member_offset(name, member) for member in found
    }
    assert record.size == structs.struct_size(name) and str(record) == f"struct {name}"


def test_enumerators_of_the_kernel(structs):
    """By their names, where nothing else is called so; of several values by one name none is meant."""
    assert value_of("TCP_ESTABLISHED", structs) == 1 and value_of("SS_CONNECTED", structs) == 3
    assert value_of("BPF_F_INDEX_MASK", structs) == (1 << 32) - 1  # of 64 bits
    program = compiled("BEGIN { TCP_ESTABLISHED = 7; trace(TCP_ESTABLISHED); }", structs)
    assert program.names.scopes["global"]["TCP_ESTABLISHED"].is_known
    assert refused("BEGIN { trace(NO_SUCH_ENUMERATOR); }", structs).tag == "D_IDENT_UNDEF"


def btf_of(*enumerations):
    """BTF that holds these enumerations alone: (kind, signed, [(name, value)])."""
    texts, types = b"\0", b""
    for kind, signed, members in enumerations:
        types += struct.pack(
            "=III", 0, kind << 24 | signed << 31 | len(members), 8 if kind == 19 else 4
        )
        for name, value in members:
            words = (value & 0xFFFFFFFF, value >> 32 & 0xFFFFFFFF)[: 2 if kind == 19 else 1]
            types += struct.pack(f"={1 + len(words)}I", len(texts), *words)
            texts += name.encode() + b"\0"
    return (
        struct.pack("=HBBIIIII", 0xEB9F, 1, 0, 24, 0, len(types), len(types), len(texts))
        + types
        + texts
    )


def test_enumerators_of_each_kind():
    data = btf_of(
        (6, 1, [("MINUS", -2), ("TWICE", 1)]),
        (6, 0, [("HIGH", 0xFFFFFFFF), ("TWICE", 2), ("SAME", 5)]),
        (19, 0, [("WIDE", 1 << 40), ("SAME", 5)]),
    )
    wanted = {
        "MINUS": -2,
        "HIGH": 0xFFFFFFFF,
        "WIDE": 1 << 40,
        "SAME": 5,
        "TWICE": None,
        "NONE": None,
    }
    assert {name: _tracer.btf_enumerator(data, name) for name in wanted} == wanted
    for size in range(len(data)):  # damaged: refused, or not all of it is seen
        assert _tracer.btf_enumerator(data[:size], "NONE") is None


def test_every_struct_of_the_kernel_can_be_read(structs, types):
    """Every hundredth, and all that it holds."""
    places = _tracer.btf_places(structs.read_btf())
    count = len(places) // 4
    seen = 0
    for ident in range(1, count + 1, 100):
        row = structs.read_type(ident)
        if row.kind in (4, 5):
            record, seen = types._find_type(ident), seen + 1
            ends = [
                field.offset + field.type.size
                for field in record.body.fields.values()
                if field.width is None and not field.type.is_function
            ]
            assert max(ends, default=0) <= record.size, record
    assert count > 1000 and seen > 20


def test_bit_fields_share_their_bytes(types):
    fields = types.find_tagged("struct", "tcphdr").body.fields
    place = {
        name: (field.offset, field.shift, field.width - field.shift)
        for name, field in fields.items()
        if field.width is not None
    }
    assert (
        place["doff"] == (12, 4, 4)
        and place["fin"] == (13, 0, 1)
        and place["syn"] == (13, 1, 1)
        and place["ack"] == (13, 4, 1)
    )


def test_a_bit_field_is_stored_beside_its_neighbours(structs):
    program = compiled(
        "struct iphdr h; BEGIN { h.ihl = 5; h.version = 4; h.ihl = 6; trace(h.ihl * 100 + h.version); exit(0); }",
        structs,
    ).generate_program()
    machine = Machine(program)
    machine.run_begin()
    assert b"604" in machine.printed()[0]


def test_what_a_raw_tracepoint_is_given(types):
    given = types.tracepoint_types("sched_process_fork")
    assert [str(type) for type in given] == ["struct task_struct *", "struct task_struct *"]
    assert types.tracepoint_types("no_such_tracepoint") is None


def test_the_programs_own_declaration_is_meant_first(structs):
    assert value_of("sizeof (struct task_struct)", structs) == structs.struct_size("task_struct")
    own = compiled(
        "struct task_struct { int a; char b; }; BEGIN { trace(sizeof (struct task_struct)); }",
        structs,
    )
    assert own.items[-1].body[0].expr.args[0].value == 5
    later = compiled(
        "BEGIN { this->p = (struct sock *)0; } struct sock { char c; }; BEGIN { trace(sizeof (struct sock)); }",
        structs,
    )
    assert later.items[-1].body[0].expr.args[0].value == 1
    assert (
        refused("struct sock { char c; }; struct sock { char d; };", structs).tag
        == "D_DECL_TYPERED"
    )


def test_types_that_the_kernel_has_not(structs):
    assert (
        refused("BEGIN { trace(((struct no_such *)arg0)->x); }", structs).tag == "D_OP_INCOMPLETE"
    )
    error = refused("BEGIN { trace(((struct task_struct *)arg0)->pidd); }", structs)
    assert error.tag == "D_TYPE_MEMBER" and error.hint == "did you mean pid?"


def test_typedefs_that_say_that_they_are_types(structs):
    assert value_of("sizeof (gfp_t)", structs) == 4
    compiled(
        "BEGIN { sector = 1; key = 2; gfp = 3; trace(sector + key + gfp); }", structs
    )  # sector_t, key_t are types, these are not


def test_offsets_and_enumerations(structs):
    assert value_of("offsetof(struct task_struct, comm)", structs) == structs.member_offset(
        "task_struct", "comm"
    )
    assert value_of("sizeof (enum pid_type)", structs) == 4


def test_a_kernel_without_type_information():
    nothing = Nothing()
    assert (
        refused("BEGIN { trace(((struct task_struct *)arg0)->pid); }", nothing).tag
        == "D_OP_INCOMPLETE"
    )


class Nothing(KernelBtf):
    """As where the kernel tells nothing."""

    __slots__ = ()

    def read_btf(self):
        raise FileNotFoundError(BTF)


@pytest.mark.parametrize("damage", ["short", "magic", "kind", "far"])
def test_damaged_information_is_none(damage, structs):
    data = bytearray(structs.read_btf())
    (header,) = struct.unpack_from("=I", data, 4)
    if damage == "short":
        data = data[:20]
    elif damage == "magic":
        data[0] ^= 1
    elif damage == "kind":
        data[header + 7] = 31
    else:
        struct.pack_into("=I", data, 12, 1 << 31)
    assert (
        _tracer.btf_places(bytes(data)) is None
        and _tracer.btf_find(bytes(data), 4, "task_struct") is None
    )
