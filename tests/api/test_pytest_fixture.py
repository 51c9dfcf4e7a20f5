"""The pytest fixture `usdt`, used as its users use it."""

import subprocess
import sys
import threading

import pytest

import pyusdt


def test_says_what_fired(usdt):
    with usdt() as fired:
        with pyusdt.tag("order 7"):
            pyusdt.p(200, "/checkout")
        pyusdt.pn(5, 1)
        pyusdt.user_trace_s1("done")
    (rec,) = fired.expect("user_trace-i4s4", times=1, i1=200, s1="/checkout")
    assert rec["user_tag"] == "order 7"
    fired.expect("user_trace-n5", i1=1)
    fired.expect(message="done")
    fired.expect("user_trace-i4s4", times=0, i1=404)
    assert len(fired.records) == 3


def test_can_be_asked_inside_the_block(usdt):
    with usdt("user_trace-i4s4", where="arg2 > 10") as fired:
        pyusdt.p(5)
        pyusdt.p(50)
        fired.expect(i1=50)
        pyusdt.p(50)
        pyusdt.p(50)
        fired.expect(i1=50, times=3)
    assert [rec["i1"] for rec in fired.records] == [50] * 3


def test_fails_with_what_did_fire(usdt):
    with usdt() as fired:
        pyusdt.p(1, "there")
    with pytest.raises(
        pytest.fail.Exception, match=r"i1=2 should have fired at least once(.|\n)*s1='there'"
    ):
        fired.expect("user_trace-i4s4", i1=2)
    with pytest.raises(pytest.fail.Exception, match="2 times, did 1 times"):
        fired.expect("user_trace-i4s4", times=2)


def test_takes_a_script(usdt):
    with usdt.trace("pyusdt*:::user_trace-i4s4 { @ = sum(arg2); }") as fired:
        pyusdt.p(3)
        pyusdt.p(4)
    assert fired.tracing.aggregations[""].value == 7


shop = pyusdt.Provider("fixture_shop")
order = shop.probe("order-placed", number=int, item=str, price=float)
plain = shop.probe("plain", int, str, float)


def test_sees_what_fired_before_it_inside_the_block(usdt):
    with usdt() as fired:
        for i in range(30):
            pyusdt.p(i)
            with pytest.raises(
                pytest.fail.Exception, match=f"i1={i} should have fired 0 times, did 1 times"
            ):
                fired.expect("user_trace-i4s4", times=0, i1=i)
            fired.expect(times=i + 1)


@pytest.mark.parametrize(
    "ask",
    [
        lambda fired: fired.expect("user_trace_i4s4", times=0),
        lambda fired: fired.expect("user_trace-n951", times=0),
        lambda fired: fired.expect("user_trace-i4s4", times=0, status=200),
        lambda fired: fired.matching(message2="x"),
        lambda fired: fired.expect("user_trace-s1", times=0, i1=1),
    ],
)
def test_what_does_not_exist_is_an_error(usdt, ask):
    with usdt() as fired:
        pyusdt.p(200)
    with pytest.raises(LookupError, match="there are: "):
        ask(fired)


@pytest.mark.filterwarnings("ignore::pyusdt.TraceWarning")
def test_what_was_lost_or_failed_is_a_failure(usdt):
    with usdt(bufsize="16k") as fired:
        for i in range(20_000):
            pyusdt.p(i, "x" * 200)
    with pytest.raises(pytest.fail.Exception, match="records were lost"):
        fired.expect(times=0, i1=-5)
    with usdt.trace("pyusdt*:::user_trace-i4s4 { trace(copyinstr(8)); }") as fired:
        pyusdt.p(1)
    with pytest.raises(pytest.fail.Exception, match="clauses failed: error"):
        fired.expect(times=0)


def test_values_of_own_providers_have_their_names(usdt):
    for wanted in ("order-placed", "fixture_shop*:::order-placed", "fixture_shop*:::*"):
        with usdt(wanted) as fired:
            order(17, "tea", 4.5)
            order(18, None, None)
            plain(3, "x", 0.25)
        fired.expect("order-placed", times=1, number=17, item="tea", price=4.5)
        fired.expect("order-placed", times=1, arg0=18, arg1="")
        if wanted.endswith("*"):
            fired.expect("plain", times=1, arg0=3, arg1="x", arg2=0.25)


def test_shows_twenty_records(usdt):
    with usdt() as fired:
        for i in range(100):
            pyusdt.p(i)
        pyusdt.user_trace_s1("hello")
    with pytest.raises(pytest.fail.Exception, match="message='hello'(.|\n)*and 81 more") as failure:
        fired.expect("user_trace-s1", message="bye")
    assert str(failure.value).count("\n") == 21


def test_order_and_time(usdt):
    with usdt() as fired:
        pyusdt.p(1)
        pyusdt.p(2)
        timer = threading.Timer(0.1, pyusdt.p, (3,))
        timer.start()
        second = fired.expect(i1=2, after=fired.expect(i1=1))
        with pytest.raises(pytest.fail.Exception, match="after that"):
            fired.expect(i1=1, after=second, timeout=0)
        fired.expect(i1=3, after=second[0], timeout=30)
        with pytest.raises(pytest.fail.Exception, match="0 times, did 1 times"):
            threading.Timer(0.05, pyusdt.p, (4,)).start()
            fired.expect(times=0, i1=4, timeout=30)


def test_a_suite_with_warnings_as_errors_runs_with_pyusdt_imported(tmp_path):
    test = tmp_path / "test_y.py"
    test.write_text("def test_one(): assert 1\n")
    code = "import pyusdt, pytest, sys; sys.exit(pytest.main(sys.argv[1:]))"
    run = subprocess.run(
        [sys.executable, "-c", code, "-q", "-W", "error", "-p", "no:cacheprovider", str(test)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=60,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr
