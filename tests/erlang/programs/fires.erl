%% What the tests let a node do: erl -run fires FUNCTION ARGUMENT …
%%
%% Output: a line of the program's own for what it counted, which the tests compare with what the tracer saw.
-module(fires).

-export([values/1, wait/1, count/1, upgrade/1, bounds/1, tags/1, off/1]).

%% Each shape of a call, once; the line's number is i1 or s1 of the event, so that the tests can tell them apart.
values(_) ->
    undefined = dyntrace:put_tag(["tag ", 16#e9]),
    Calls = [
        {p, []},
        {p, [-1]},
        {p, ["only"]},
        {p, [1, "a", "b", "c"]},
        {p, ["a", 2, foo]},                                  % what is no iolist is absent
        {p, [16#7fffffffffffffff, -16#8000000000000000, 1 bsl 63, -(1 bsl 70)]}, % bignums of more than 64 bits are 0
        {p, [1, 2, 3, 4, <<"b">>, ["l", [$i | <<"st">>]], [], [<<>>]]},
        {p, [5, "caf\x{e9}", [[16#20ac]], <<"snow ☃"/utf8>>]}, % beyond Latin-1 a list is no iolist
        {p, [6, <<"before\0after">>]},
        {p, [7, lists:duplicate(2000, $x)]},
        {p, [8, [binary:copy(<<"é"/utf8>>, 1000)]]},
        {pn, [0, 9, "n0"]},
        {pn, [950, 10, "n950"]},
        {user_trace_i4s4, [<<"own">>, a, 2, 3, b, undef, "s2", <<"s3">>, [s]]},
        {user_trace_s1, [["mess", <<"age">>]]}
    ],
    [true = apply(dyntrace, Function, Arguments) || {Function, Arguments} <- Calls],
    badarg = dyntrace:user_trace_s1(no_iolist),
    true = dyntrace:restore_tag({0, []}),
    true = pyusdt:p(11, "untagged"),
    halt().

%% Fires N rounds once a tracer is there, and says when it can be attached. A round is what OTP's documentation of
%% dyntrace shows, and a probe of each other kind; the real dtrace enables a probe before it sees its events, so one
%% round would not be enough. All libraries are loaded before: dtrace -p leaves a breakpoint in the dynamic linker, for
%% its main thread only, and whatever other thread loads a library then dies of it.
wait([N]) ->
    true = dyntrace:available(),
    io:format("ready~n"),
    until_enabled(3000),
    dyntrace:put_tag("GGOOOAAALL!!!!!"),
    [begin
         dyntrace:p(7, 8, 9, "one", "four"),
         dyntrace:user_trace_s1("a message"),
         dyntrace:pn(0, "nought"),
         dyntrace:pn(1, 1),
         timer:sleep(20)
     end || _ <- lists:seq(1, list_to_integer(N))],
    halt().

until_enabled(0) ->
    io:format("never enabled~n"),
    halt(1);
until_enabled(N) ->
    case pyusdt:enabled() orelse pyusdt:enabled(0) of
        true -> ok;
        false -> timer:sleep(20), until_enabled(N - 1)
    end.

%% Processes that each fire N times; how many calls answered true is counted here.
count([Processes, N]) ->
    io:format("~b~n", [fire_in_parallel(list_to_integer(Processes), list_to_integer(N), fun() -> ok end)]),
    halt().

%% The same while the modules are loaded anew and purged.
upgrade([Processes, N]) ->
    Reload = fun() ->
        [begin {module, Module} = code:load_file(Module), timer:sleep(3), code:purge(Module) end
         || _ <- lists:seq(1, 10), Module <- [pyusdt_nif, pyusdt]]
    end,
    io:format("~b~n", [fire_in_parallel(list_to_integer(Processes), list_to_integer(N), Reload)]),
    halt().

fire_in_parallel(Processes, N, Meanwhile) ->
    Me = self(),
    Pids = [spawn_link(fun() -> Me ! {self(), fire(N, 0)} end) || _ <- lists:seq(1, Processes)],
    Meanwhile(),
    lists:sum([receive {Pid, True} -> True end || Pid <- Pids]).

fire(0, True) ->
    True;
fire(N, True) ->
    N rem 100 =:= 0 andalso timer:sleep(1), % the consumer keeps up
    case pyusdt:p(N, "some text") of
        true -> fire(N - 1, True + 1);
        false -> fire(N - 1, True)
    end.

%% Lists that would take a second to flatten: a probe looks at a bounded part of each.
bounds(_) ->
    Long = lists:duplicate(3000000, $l),
    Empty = lists:duplicate(3000000, []),
    Left = lists:foldl(fun(_, List) -> [List, $d] end, "start", lists:seq(1, 1000000)),
    Right = lists:foldl(fun(_, List) -> [$r, List] end, [], lists:seq(1, 1000000)),
    true = pyusdt:p(0, ""),
    Lists = [Long, Empty, Left, Right],
    {Time, _} = timer:tc(fun() -> [true = pyusdt:p(1, L) || L <- Lists] end),
    {Whole, _} = timer:tc(fun() -> [term_to_binary(L) || L <- Lists] end),
    io:format("~b~n~b~n", [Time, Whole]),
    halt().

%% A tag goes with a message to another process, and not without spread_tag.
tags(_) ->
    pyusdt:put_tag("request 17"),
    Worker = fun() ->
        receive {From, N} -> From ! {done, pyusdt:user_trace_i4s4(pyusdt:get_tag_data(), N, 0, 0, 0, a, a, a, a)} end
    end,
    tell(spawn(Worker), 1),
    State = pyusdt:spread_tag(true),
    tell(spawn(Worker), 2),
    pyusdt:restore_tag(State),
    tell(spawn(Worker), 3),
    halt().

tell(Pid, N) ->
    Pid ! {self(), N},
    receive {done, true} -> ok end.

off(_) ->
    io:format("~p~n", [{dyntrace:available(), dyntrace:p(1, "a"), dyntrace:pn(1, 1), dyntrace:pn(2000),
                        dyntrace:user_trace_s1("a"), pyusdt:enabled()}]),
    halt().
