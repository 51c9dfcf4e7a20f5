"""What functions of C++ and Rust are called, beside c++filt; and what strangers' symbols can not do."""

import os
import random
import shutil
import subprocess
import time

import pytest

from pydtrace.symbols import demangle_cxx, demangle_rust, elf
from pydtrace.symbols.demangle import demangle, may_match, strip_parameters, strip_return_type

CXX = {
    "_ZN4shop6Basket3addEi": "shop::Basket::add(int)",
    "_ZN4shop6Basket5priceIlEEiT_": "int shop::Basket::price<long>(long)",
    "_ZNK1A3getEv": "A::get() const",
    "_ZN1AC2ERKS_": "A::A(A const&)",
    "_ZN1AD0Ev": "A::~A()",
    "_ZlsRSoRK1A": "operator<<(std::ostream&, A const&)",
    "_ZN12_GLOBAL__N_14workEv": "(anonymous namespace)::work()",
    "_Z4callPFivEPA3_i": "call(int (*)(), int (*) [3])",
    "_ZZ4mainENKUliE_clEi": "main::{lambda(int)#1}::operator()(int) const",
    "_ZTV1A": "vtable for A",
    "_ZThn8_N1B1fEv": "non-virtual thunk to B::f()",
    "_Z1fIJidEEvDpOT_": "void f<int, double>(int&&, double&&)",
    "_ZN1AcvbEv": "A::operator bool()",
    "_Z1fILi3ELb1EEvv": "void f<3, true>()",
    "_Z1fM1AFivE": "f(int (A::*)())",
    "_ZN1AplERKS_.part.0": "A::operator+(A const&) [clone .part.0]",
    "_Z1gRKSs": "g(std::string const&)",
}
RUST = {
    "_ZN1r6middle17h21855ba935af5cfaE": "r::middle",
    "_ZN4core3ops8function6FnOnce40call_once$u7b$$u7b$vtable.shim$u7d$$u7d$17h0123456789abcdefE": "core::ops::function::FnOnce::call_once{{vtable.shim}}",
    "_ZN50_$LT$T$u20$as$u20$core..convert..Into$LT$U$GT$$GT$4into17h0a1b2c3d4e5f6789E": "<T as core::convert::Into<U>>::into",
    "_RNvCs1234_7mycrate3foo": "mycrate::foo",
    "_RNvNtCs1234_7mycrate3foo3bar": "mycrate::foo::bar",
    "_RINvNtC3std3mem8align_ofjE": "std::mem::align_of::<usize>",
    "_RNCNvC1a1b0": "a::b::{closure#0}",
    "_RNvXC1aNtB2_1SNtB2_1T1f": "<a::S as a::T>::f",
    "_RNvMC1aNtB2_1S1f": "<a::S>::f",
}


@pytest.mark.parametrize(("symbol", "text"), CXX.items())
def test_of_cxx(symbol, text):
    assert demangle(symbol) == text == demangle_cxx.demangle_cxx(symbol)


@pytest.mark.parametrize(("symbol", "text"), RUST.items())
def test_of_rust(symbol, text):
    assert demangle_rust.demangle_rust(symbol) == text


@pytest.mark.parametrize(
    "symbol",
    [
        "main",
        "_Zfoo",
        "_Z",
        "_ZN",
        "_R",
        "_ZN4shop",
        "_ZN99999999999999999999shopE",
        "_ZS_",
        "_ZT_",
        "_ZN4shopE_",
        "",
        "_ZN1r6middle17hE",
    ],
)
def test_of_c_and_of_nothing(symbol):
    assert demangle(symbol) == symbol


@pytest.mark.parametrize("name", ["libstdc++.so.6", "libLLVM-14.so.1"])
def test_of_libraries(name):
    """As c++filt says, but where it leaves a space out behind an empty pack."""
    path = f"/usr/lib/{os.uname().machine}-linux-gnu/{name}"
    if not os.path.exists(path) or not shutil.which("c++filt"):
        pytest.skip(f"host: no {name}, or no c++filt")
    file = elf.ElfFile(path)
    symbols = [symbol for _, _, symbol in file.read_functions() if symbol.startswith("_Z")]
    symbols = random.Random(7).sample(symbols, min(len(symbols), 1500))
    wanted = subprocess.run(
        ["c++filt", "-i"], input="\n".join(symbols), check=True, capture_output=True, text=True
    ).stdout.split("\n")
    wrong = [
        (symbol, text)
        for symbol, text in zip(symbols, wanted)
        if demangle_cxx.demangle_cxx(symbol) != text
    ]
    assert len(wrong) <= len(symbols) // 200, wrong[:5]


def test_strangers_symbols_take_no_time():
    """Each part refers to the one before twice; deep ones; any letters."""
    rng, begun = random.Random(11), time.thread_time()
    doubled = (
        "_Z1f"
        + "1aIiiE"
        + "".join(
            f"1aIS{'0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ'[n]}_S{'0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ'[n]}_E"
            for n in range(30)
        )
    )
    hostile = [
        doubled,
        "_Z1f" + "P" * 4000 + "i",
        "_Z1f" + "F" * 4000,
        "_RNvC1a" + "R" * 4000,
        "_R" + "I" * 4000,
        "_RINvC1a1b" + "TB5_B5_E" * 300 + "E",
        "_Z" + "N" * 4000,
    ]
    letters = "0123456789_ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz$."
    hostile += [
        rng.choice(("_Z", "_ZN", "_R", "_RNv"))
        + "".join(rng.choice(letters) for _ in range(rng.randrange(60)))
        for _ in range(5000)
    ]
    known = [*CXX, *(symbol for symbol in RUST)]
    for _ in range(5000):
        symbol = list(rng.choice(known))
        symbol[rng.randrange(2, len(symbol))] = rng.choice(letters)
        hostile.append("".join(symbol))
    assert (
        all(len(demangle(symbol)) <= 20000 for symbol in hostile)
        and time.thread_time() - begun < 20
    )


def test_parts_of_texts():
    assert (
        strip_parameters("a::f(int) const") == "a::f" == strip_parameters("a::f")
        and strip_parameters("operator()(int)") == "operator()"
    )
    assert (
        strip_return_type("int a::f<int>(long)") == "a::f<int>(long)"
        and strip_return_type("a::f(int) const") == "a::f(int) const"
    )
    assert (
        strip_return_type("std::vector<int, long> f<b<c> >()") == "f<b<c> >()"
        and strip_return_type("A::operator bool()") == "A::operator bool()"
    )
    assert may_match("shop::Basket::add(int)", "_ZN4shop6Basket3addEi") and not may_match(
        "shop::other*", "_ZN4shop6Basket3addEi"
    )
    assert not may_match("shop::add", "shop_add")
