"""erltrace:watch/2 and erltrace:top/1, in a node that they are called in."""

from __future__ import annotations

import pytest


def make_evaluate(erlang):
    """evaluate(expressions) -> what they print, after processes that run watched:sells/0 and watched:spins/0."""

    def run(expressions: str) -> str:
        started = "Pid = spawn(watched, sells, []), Loop = spawn(watched, spins, []), "
        made = erlang.evaluate(
            started + expressions, "-pa", erlang.ebin, "-pa", erlang.programs, timeout=60
        )
        assert made.status == 0, made
        return made.stdout

    return run


evaluate = pytest.fixture(make_evaluate, scope="module", name="evaluate")


def test_calls(evaluate):
    """An exception, a result without its secret, and arguments that are truncated."""
    evaluate("""
        {ok, count, Calls} = erltrace:watch("watched:price/2", #{count => 3}),
        [Tea] = [Call || #{exception := _} = Call <- Calls],
        #{pid := Pid, params := [tea, 1], exception := {exit, no_tea}, caller := {watched, _, _}} = Tea,
        [Cake] = [Call || #{params := [cake, 2]} = Call <- Calls],
        #{retval := {cake, #{n := 2, password := <<"<redacted>">>}}, us := Us} = Cake,
        true = Us >= 2000,
        [#{params := Long, retval := _}] = Calls -- [Tea, Cake],
        [[1, 2 | _] = Items | _] = Long, '...' = lists:last(Items), true = length(Items) < 5000
    """)


def test_conditions(evaluate):
    """A guard is the emulator's: the other calls are not looked at."""
    evaluate("""
        {ok, count, [#{params := [cake, 2]}, #{params := [cake, 2]}]} =
            erltrace:watch({watched, price, 2}, #{count => 2, where => "P1 =/= tea, P2 < 10"}),
        {ok, count, [#{us := Us}]} = erltrace:watch("watched:price/2", #{count => 1, slower => 20}),
        true = Us >= 20000
    """)


def test_ends_by_itself(evaluate):
    """By the time, or by the calls that were looked at: then the stack of a loop grows no more.  Nothing is left."""
    evaluate("""
        {ok, time, []} = erltrace:watch("watched:price/2", #{count => 1, slower => 60000, time => 300}),
        {ok, calls, []} = erltrace:watch("watched:loop/1", #{count => 1, slower => 60000, calls => 1000}),
        {meta, false} = erlang:trace_info({watched, loop, 1}, meta),
        undefined = whereis(erltrace_watch),
        {_, Words} = process_info(Loop, stack_size), true = Words < 10000
    """)


def test_a_caller_that_is_killed(evaluate):
    evaluate("""
        Watcher = spawn(fun() -> erltrace:watch("watched:price/2", #{count => 1000, time => 60000}) end),
        (fun Wait() -> whereis(erltrace_watch) =/= undefined orelse begin timer:sleep(10), Wait() end end)(),
        {error, already_watching} = erltrace:watch("watched:price/2", #{count => 1}),
        exit(Watcher, kill),
        (fun Wait() -> whereis(erltrace_watch) =:= undefined orelse begin timer:sleep(10), Wait() end end)(),
        {ok, count, [_]} = erltrace:watch("watched:price/2", #{count => 1})
    """)


def test_refusals(evaluate):
    printed = evaluate("""
        [io:format("~0p~n", [element(2, erltrace:watch(Function, Options))])
         || {Function, Options} <- [{"watched:prise/2", #{count => 1}}, {"watched:price/3", #{count => 1}},
                                    {"no_such_module:f/0", #{count => 1}}, {"price", #{count => 1}},
                                    {"watched:price/2", #{}}, {"watched:price/2", #{count => 0}},
                                    {"watched:price/2", #{count => 1, wher => "x"}},
                                    {"watched:price/2", #{count => 1, where => "P3 > 1"}},
                                    {"watched:price/2", #{count => 1, where => "spawn(P1)"}}]]
    """)
    assert printed.splitlines() == [
        "no_such_function",
        "no_such_function",
        "no_such_module",
        '{no_function,"price"}',
        "{missing,count}",
        "{badarg,[count]}",
        "{badarg,[wher]}",
        '{no_guard,"P3 > 1"}',
        '{no_guard,"spawn(P1)"}',
    ]


def test_the_encoding_is_read(evaluate):
    """Terms of every kind, as the library writes them."""
    evaluate("""
        Terms = [1, -1, 1 bsl 40, 1.5, atom, list_to_atom([252]), "text", [1 | 2], [], {}, {a, [b]}, #{k => [v]}, <<1, 2>>, self(), make_ref(), [300, 1]],
        [begin
             Again = spawn(fun Call() -> watched:price(Term, 0), timer:sleep(5), Call() end),
             {ok, count, [#{params := [Term, 0]}]} = erltrace:watch("watched:price/2", #{count => 1, where => "P2 =:= 0"}),
             exit(Again, kill)
         end || Term <- Terms]
    """)


def test_top(evaluate):
    evaluate("""
        Big = spawn(fun() -> register(keeper, self()), Bin = binary:copy(<<0>>, 30000000), receive Bin -> ok end end),
        (fun Wait() -> whereis(keeper) =:= Big orelse begin timer:sleep(10), Wait() end end)(),
        [Big ! N || N <- lists:seq(1, 100000)],
        timer:sleep(100),
        [#{pid := Big, name := "keeper", binary := Bytes, stack := [_ | _]} | _] = erltrace:top(binary), true = Bytes >= 30000000,
        [#{pid := Big, message_queue_len := 100000} | _] = erltrace:top(message_queue_len),
        [#{pid := Big, memory := _} | _] = erltrace:top(memory),
        [#{pid := Loop, name := "watched:spins/0"} | _] = erltrace:top(reductions)
    """)
