%% What the tests let a node do with probes of its own: erl -run own FUNCTION ARGUMENT …
-module(own).

-export([values/1, terms/1, wait/1, wrong/1, many/1, cut/1, killed/1, uncached/1, kept/1]).

types() ->
    [int, int8, uint8, int16, uint16, int32, uint32, uint64, float, float32, boolean, string].

%% Every type at its limits, beyond them, and what can not be.
values(_) ->
    P = pyusdt:probe(pyusdt:provider("shop"), "every__type", types()),
    Rows = [[-1, -1, 255, -1, 65535, -1, -1, (1 bsl 64) - 1, 1.5, 0.5, true, "text"],
            [1 bsl 63, 128, 256, 32768, 65536, 1 bsl 31, 1 bsl 32, -1, 2, 3, false, <<"bin">>],
            [1 bsl 70, a, "b", {}, [], #{}, self(), make_ref(), nan, 1 bsl 70, 7, ["io", $l, <<"ist">>]],
            [undefined || _ <- types()],
            [1]],
    [true = pyusdt:fire(P, Row) || Row <- Rows],
    badarg = pyusdt:fire(P, lists:seq(1, 13)),
    halt().

%% Each term goes through a probe; what Erlang prints of it goes into the file.
terms([File]) ->
    P = pyusdt:probe(pyusdt:provider("shop"), "term", [int, term]),
    Terms = [a, 'A', 'ünïÉ', '÷', 'a b', '', 'and', 'it\'s\n', 'nul\0\x7f', '€', a@b_1, true,
             0, 255, 256, -1, 1 bsl 31, -(1 bsl 31), 1 bsl 40, -(1 bsl 62), (1 bsl 64) - 1,
             0.0, -0.0, 1.0, 0.1, -2.5, 100.0, 1000.0, 1.0e5, 123456.0, 0.001, 0.0001, 0.00001, 1.0e22, 1.7976931348623157e308, 5.0e-324,
             [], "text", "q\"\\\n\t\e", [1, 2, 3], [127], "gr\x{fc}n", [8364], [a | b], [1, 2 | 3], [[], [[]]], ["a", b],
             <<>>, <<"bin">>, <<"h\x{e9}"/utf8>>, <<1, 2, 255>>, <<"a\"b">>, <<0>>,
             {}, {a}, {a, {b, "c", <<"d">>}, [1]}, #{}, #{a => 1}, #{"k" => #{[1] => {}}}, #{1 => a, b => 2.5},
             self(), list_to_pid("<0.5000.7>"), make_ref(), hd(erlang:ports()), fun lists:map/2, fun own:terms/1,
             fun(X) -> X + length(File) end, {ok, [{name, "eve"}, {'Age', 7}]}, list_to_tuple(lists:seq(1, 300))],
    ok = file:write_file(File, [unicode:characters_to_binary(io_lib:format("~0tp~n", [Term])) || Term <- Terms]),
    [true = pyusdt:fire(P, [N, Term]) || {N, Term} <- lists:zip(lists:seq(1, length(Terms)), Terms)],
    halt().

%% Too large, too deep, too strange: every one is cut, and quickly.
cut(_) ->
    P = pyusdt:probe(pyusdt:provider("shop"), "term", [int, term]),
    Deep = lists:foldl(fun(_, Inner) -> [Inner] end, x, lists:seq(1, 1000)),
    Big = lists:seq(1, 1000000),
    Terms = [lists:duplicate(1000000, $x), Big, list_to_tuple(Big), binary:copy(<<"é"/utf8>>, 1000000), Deep,
             maps:from_list([{N, N} || N <- Big]), 1 bsl 1000000, <<5:3>>, lists:duplicate(2000, lists:duplicate(2000, [])),
             {before, 1 bsl 64, 'after'}, {list_to_atom(lists:duplicate(255, $a)), lists:duplicate(758, $b), "whole"}],
    {Time, _} = timer:tc(fun() -> [pyusdt:fire(P, [N, Term]) || {N, Term} <- lists:zip(lists:seq(1, length(Terms)), Terms)] end),
    {Whole, _} = timer:tc(fun() -> [term_to_binary(Term) || Term <- Terms] end),
    io:format("~w~n~w~n", [Time, Whole]),
    halt().

%% Fires until a tracer has seen enough; the object is there before.
wait([N]) ->
    P = pyusdt:probe(pyusdt:provider("shop"), "order-placed", [int, string, float, term]),
    #{path := Path} = pyusdt:info(P),
    io:format("~s~n", [Path]),
    [begin pyusdt:fire(P, [17, <<"apple">>, 2.5, {order, [1]}]), timer:sleep(20) end || _ <- lists:seq(1, list_to_integer(N))],
    halt().

%% The library is purged and loaded again: a probe of before answers false, those that are made then fire what they are.
kept(_) ->
    Shop = pyusdt:provider("shop"),
    Kept = pyusdt:probe(Shop, "sold", [int, term]),
    true = pyusdt:fire(Kept, [1, first]),
    true = code:delete(pyusdt_nif),
    false = code:purge(pyusdt_nif), % no process was in it
    Answers = {pyusdt:fire(Kept, [2, never]), pyusdt:enabled(Kept), catch pyusdt:fire(Kept, no_list)},
    true = pyusdt:fire(pyusdt:probe(Shop, "returned", [int, term]), [3, second]),
    true = pyusdt:fire(pyusdt:probe(Shop, "sold", [int, term]), [4, third]),
    io:format("~0p~n", [Answers]),
    halt().

wrong(_) ->
    Shop = pyusdt:provider("shop"),
    _ = pyusdt:probe(Shop, "known", [int]),
    Tries = [fun() -> pyusdt:probe(Shop, "known", [int]) end,
             fun() -> pyusdt:probe(Shop, "known", [string]) end,
             fun() -> pyusdt:probe(Shop, "two words", []) end,
             fun() -> pyusdt:probe(Shop, "", []) end,
             fun() -> pyusdt:probe(Shop, lists:duplicate(64, $n), []) end,
             fun() -> pyusdt:probe(Shop, "nul\0", []) end,
             fun() -> pyusdt:probe(pyusdt:provider("shop1"), "p", []) end,
             fun() -> pyusdt:probe(Shop, "p", [atom]) end,
             fun() -> pyusdt:probe(Shop, "p", lists:duplicate(13, int)) end,
             fun() -> pyusdt:probe(Shop, "p", int) end,
             fun() -> pyusdt:provider(shop) end,
             fun() -> pyusdt:fire(pyusdt:probe(Shop, "known", [int]), 1) end],
    io:format("~w~n", [[try Try(), ok catch error:Reason -> Reason end || Try <- Tries]]),
    halt().

%% Processes on all schedulers make the same probes at once and fire them, while the modules are replaced and purged.
many([Processes, Rounds]) ->
    Work = fun() ->
        [true = pyusdt:fire(pyusdt:probe(pyusdt:provider("shop"), ["many-", $a + N rem 5], [int, term]), [N, {N, "x"}])
         || N <- lists:seq(1, list_to_integer(Rounds))]
    end,
    Pids = [element(1, spawn_monitor(Work)) || _ <- lists:seq(1, list_to_integer(Processes))],
    [begin {module, _} = code:load_file(M), timer:sleep(5), purged(M) end || _ <- lists:seq(1, 5), M <- [pyusdt_nif, pyusdt]],
    Ends = [receive {'DOWN', _, process, Pid, Reason} -> Reason end || Pid <- Pids],
    io:format("~w~n", [lists:usort(Ends)]),
    halt().

%% Old code that a process is still in, on a busy machine, can not be replaced: it has to leave it first.
purged(Module) ->
    code:soft_purge(Module) orelse begin timer:sleep(5), purged(Module) end.

%% Fires, and is killed with nothing said.
killed(_) ->
    P = pyusdt:probe(pyusdt:provider("shop"), "sold", [int, term]),
    [begin pyusdt:p(N, "before"), pyusdt:fire(P, [N, {a, "b"}]) end || N <- lists:seq(1, 5)],
    os:cmd("kill -9 " ++ os:getpid()).

%% A probe whose library can not be written: no other tracer sees it, ours do.
uncached(_) ->
    P = pyusdt:probe(pyusdt:provider("shop"), "sold", [int, term]),
    io:format("~p ~p~n", [pyusdt:info(P), pyusdt:fire(P, [7, {a, "b"}])]),
    halt().
