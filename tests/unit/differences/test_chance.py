"""The tests of `pyusdt diff`, against published values and against what made-up samples really do."""

from __future__ import annotations

import random

import pytest

from pydtrace.differences import chance


@pytest.mark.parametrize(
    ("table", "p"),
    [
        ((3, 4, 1, 4), 0.4857),  # Fisher's lady who tastes tea
        ((1, 12, 9, 12), 0.002759),  # scipy: fisher_exact([[1, 11], [9, 3]])
        ((0, 10, 10, 10), 1.0825e-05),  # 2 / C(20, 10)
        ((5, 10, 5, 10), 1.0),
        ((0, 10, 0, 10), 1.0),
        ((0, 0, 5, 10), 1.0),
    ],
)
def test_shares(table, p):
    assert chance.compare_shares(*table) == pytest.approx(p, rel=1e-3)


def test_large_shares_agree_with_the_exact_test(monkeypatch):
    # scipy: fisher_exact([[1000, 4000], [1090, 3910]]), pvalue=0.028588
    approximate = chance.compare_shares(1000, 5000, 1090, 5000)
    monkeypatch.setattr(chance, "_EXACT_ROOM", chance._MAX_EXACT)
    assert chance.compare_shares(1000, 5000, 1090, 5000) == pytest.approx(0.028587788)
    assert approximate == pytest.approx(0.028587788, rel=0.01)


def test_an_interval_holds_the_difference():
    """The difference is 0.1; at most 1 in 20 intervals misses it, give or take."""
    made = random.Random(1)

    def draw(share: float) -> int:
        return sum(made.random() < share for _ in range(400))

    held = 0
    for _ in range(400):
        before, after = draw(0.2), draw(0.3)
        held += abs((after - before) / 400 - 0.1) <= chance.share_margin(before, 400, after, 400)
    assert 0.92 < held / 400 < 0.98


def test_counts():
    assert chance.compare_counts(0, 6) == pytest.approx(2 / 2**6)
    assert chance.compare_counts(5, 5) == pytest.approx(1) and chance.compare_counts(0, 0) == 1
    assert chance.compare_counts(1, 3, 0.25) == pytest.approx(
        1
    )  # the first run took a third of the time
    # scipy: binomtest(80, 200), binomtest(3, 40, 0.2)
    assert chance.compare_counts(80, 120) == pytest.approx(0.005685156)
    assert chance.compare_counts(3, 37, 0.2) == pytest.approx(0.047869463)
    exact, approximate = chance.compare_counts(80, 120), chance.compare_counts(81, 120)
    assert approximate == pytest.approx(exact, rel=0.3)  # 200 is the last that is exact


def test_distributions():
    # scipy: mannwhitneyu([1, 1, 2, 3], [2, 3, 3, 4, 4], method="asymptotic"), pvalue=0.0772
    p, larger = chance.compare_distributions([2, 1, 1, 0], [0, 1, 2, 2])
    assert (round(p, 3), larger) == (0.077, 0.875)
    assert chance.compare_distributions([5, 5], [5, 5]) == (1.0, 0.5)
    assert chance.compare_distributions([], []) == (1.0, 0.5)
    assert chance.compare_distributions([7], [9]) == (1.0, 0.5)


def test_many_rows():
    assert chance.adjust_for_many([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert chance.adjust_for_many([]) == []


def test_what_has_not_changed_is_seldom_marked():
    """In at most one of 20 comparisons of 30 functions is even one marked; 300 such comparisons, with a made-up chance."""
    made = random.Random(7)
    functions = range(30)
    weights = [1 / (i + 1) for i in functions]
    wrong = 0
    for _ in range(300):
        sides = [made.choices(functions, weights, k=800) for _ in range(2)]
        tests = [
            chance.compare_shares(sides[0].count(each), 800, sides[1].count(each), 800)
            for each in functions
        ]
        wrong += min(chance.adjust_for_many(tests)) < chance.LEVEL
    assert wrong / 300 <= 0.08
