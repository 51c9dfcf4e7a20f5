%% The longest message queues of waiting processes, and their stacks.
-module(erltrace_dump_tests).

-include_lib("eunit/include/eunit.hrl").

-export([waits/1]).

waits(Reply) ->
    receive {stop, Reply} -> ok end.

the_longest_come_first_test() ->
    Pids = [{spawn(?MODULE, waits, [make_ref()]), N} || N <- [3, 700, 40]],
    register(longest, element(1, lists:nth(2, Pids))),
    [Pid ! I || {Pid, N} <- Pids, I <- lists:seq(1, N)],
    [#{name := longest, length := 700, stack := [Top | _], initial_call := {?MODULE, waits, 1}}, #{length := 40} | _] = Dumped = erltrace:dump(),
    ?assertMatch("erltrace_dump_tests:waits/1  " ++ _, Top),
    ?assert(length(Dumped) =< 10),
    Lengths = [Length || #{length := Length} <- Dumped],
    ?assertEqual(lists:reverse(lists:sort(Lengths)), Lengths),
    [exit(Pid, kill) || {Pid, _} <- Pids].

empty_queues_are_left_out_test() ->
    Pid = spawn(?MODULE, waits, [make_ref()]),
    ?assertEqual([], [Queue || #{pid := P} = Queue <- erltrace:dump(), P =:= Pid]),
    exit(Pid, kill).
