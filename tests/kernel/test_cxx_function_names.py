"""Functions of C++ by the names that programmers write."""

import pytest

from tests.support.kernel_harness import compile_cxx, pydtrace

SHOP = """#include <string>
namespace shop {
struct Basket {
    __attribute__((noinline)) int add(int n);
    __attribute__((noinline)) int add(const std::string &s) const;
    template <class T> __attribute__((noinline)) int price(T t);
    int total = 0;
};
int Basket::add(int n) { total += n; asm volatile(""); return total; }
int Basket::add(const std::string &s) const { asm volatile(""); return s.size(); }
template <class T> int Basket::price(T t) { asm volatile(""); return add((int)t) * 2; }
template int Basket::price<long>(long);
}
int main() { shop::Basket b; b.add(1); b.add(std::string("tea")); return b.price<long>(2) == 0; }
"""
ADD, PRICE = "shop::Basket::add(int)", "int shop::Basket::price<long>(long)"


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    return compile_cxx(SHOP, tmp_path_factory.mktemp("shop") / "shop")


@pytest.mark.usefixtures("bpf")
@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("shop::Basket::add(int)", [ADD] * 2),
        ("shop::Basket::price*", [PRICE]),
        ("shop::Basket::price<long>(long)", [PRICE]),
        ("_ZN4shop6Basket3addEi", [ADD] * 2),
        (
            "shop::Basket::add(std::*) const",
            [
                "shop::Basket::add(std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> > const&) const"
            ],
        ),
        ("ma?n", ["main"]),
        (
            "*Basket*add",
            [
                ADD,
                "shop::Basket::add(std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> > const&) const",
                ADD,
            ],
        ),
        ("shop*price<*>", [PRICE]),
    ],
)
def test_asked_for_as_written(shop, asked, found):
    out, err, status = pydtrace(
        "-xstrsize=300",
        "-qn",
        f'pid$target:a.out:{asked}:entry,pid$target:a.out:{asked}:return /probename == "entry"/ '
        '{ printf("%s\\n", probefunc); }',
        "-c",
        shop,
    )
    names = [line for line in out.splitlines() if line]
    assert status == 0 and [name[:127] for name in found] == names, (out, err)


@pytest.mark.usefixtures("bpf")
def test_names_in_stacks_and_lists(shop):
    out, _, _ = pydtrace(
        "-qn", "pid$target:a.out:shop::Basket::add:entry { @[ustack(2)] = count(); }", "-c", shop
    )
    assert (
        "shop`shop::Basket::add(int)" in out and "shop`int shop::Basket::price<long>(long)+" in out
    )
    out, _, _ = pydtrace("-ln", "pid$target:a.out:*Basket*:entry", "-c", shop)
    assert f" {ADD} entry" in out and f" {PRICE} entry" in out and "_ZN" not in out
    out, _, _ = pydtrace("-xdemangle=no", "-ln", "pid$target:a.out:*Basket*:entry", "-c", shop)
    assert "_ZN4shop6Basket3addEi entry" in out and "::" not in out
    out, _, _ = pydtrace(
        "-xdemangle=no",
        "-qn",
        "pid$target:a.out:shop::Basket::add:entry { @[probefunc, ustack(1)] = count(); }",
        "-c",
        shop,
    )
    assert "shop`_ZN4shop6Basket3addEi" in out and "Basket::" not in out


@pytest.mark.usefixtures("bpf")
@pytest.mark.parametrize(
    "asked", ["*Basket*add", "shop::Basket::add", ADD, "_ZN4shop6Basket3addEi"]
)
def test_lists_have_what_is_traced(shop, asked):
    out, err, _ = pydtrace("-ln", f"pid$target:a.out:{asked}:entry", "-c", shop)
    assert f" {ADD} entry" in out, err


@pytest.mark.usefixtures("bpf")
def test_patterns_without_demangling_stand_for_symbols(shop):
    """Which end by their parameters."""
    out, err, _ = pydtrace("-xdemangle=no", "-ln", "pid$target:a.out:*Basket*add:entry", "-c", shop)
    assert "entry" not in out and "No probe matches description" in err


@pytest.mark.usefixtures("bpf")
def test_what_is_no_such_description(shop):
    for description in ("pid$target:a.out:f(int", "a::b:c:d:e:f", "pid$target:a.out:f(int):entry)"):
        _, err, status = pydtrace("-qn", f"{description} {{ }}", "-c", shop)
        assert status == 1 and ("syntax error" in err or "Overspecified" in err), err
    _, err, status = pydtrace("-qn", "pid$target:a.out:shop::none(int):entry { }", "-c", shop)
    assert status == 1 and "shop::none(int)" in err, err
