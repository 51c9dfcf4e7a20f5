%% The node that is measured. In: lines of "OPERATION PROCESSES N" on standard input. Out: for each, the nanoseconds that
%% PROCESSES processes took for N calls each, all started at once.
-module(bench_node).
-export([main/0]).

main() ->
    dyntrace:put_tag("benchmark"),
    case io:get_line("") of
        eof ->
            halt();
        Line ->
            [Operation, Processes, N] = string:lexemes(Line, " \n"),
            io:format("~b~n", [measure(list_to_atom(Operation), list_to_integer(Processes), list_to_integer(N))]),
            main()
    end.

measure(Operation, 1, N) ->
    timed(fun() -> repeat(Operation, N div 10) end);
measure(Operation, Processes, N) ->
    Pids = [spawn_monitor(fun() ->
        dyntrace:put_tag("benchmark"),
        receive go -> repeat(Operation, N div 10) end
    end) || _ <- lists:seq(1, Processes)],
    timed(fun() ->
        [Pid ! go || {Pid, _} <- Pids],
        [receive {'DOWN', Monitor, _, _, normal} -> ok end || {_, Monitor} <- Pids]
    end).

timed(Fun) ->
    Start = erlang:monotonic_time(nanosecond),
    Fun(),
    erlang:monotonic_time(nanosecond) - Start.

%% Ten calls a round, so that counting the rounds weighs little.
repeat(_, 0) ->
    ok;
repeat(empty, N) ->
    empty_nif:call(1, 2, "a"), empty_nif:call(1, 2, "a"), empty_nif:call(1, 2, "a"), empty_nif:call(1, 2, "a"),
    empty_nif:call(1, 2, "a"), empty_nif:call(1, 2, "a"), empty_nif:call(1, 2, "a"), empty_nif:call(1, 2, "a"),
    empty_nif:call(1, 2, "a"), empty_nif:call(1, 2, "a"),
    repeat(empty, N - 1);
repeat(p, N) ->
    dyntrace:p(1, 2, "a"), dyntrace:p(1, 2, "a"), dyntrace:p(1, 2, "a"), dyntrace:p(1, 2, "a"),
    dyntrace:p(1, 2, "a"), dyntrace:p(1, 2, "a"), dyntrace:p(1, 2, "a"), dyntrace:p(1, 2, "a"),
    dyntrace:p(1, 2, "a"), dyntrace:p(1, 2, "a"),
    repeat(p, N - 1).
