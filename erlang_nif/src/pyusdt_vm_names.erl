%% @private
%% @doc The names of processes, as events of the probe `process-name': for `procname()' in a script.
%%
%% A name is fired when a process is first seen, and when it changes; an empty one when the process has gone. A run names at most
%% 1000 new processes and looks again at 200 others. Runs are the rarer the more processes there are, so that they cost no more in a
%% large node.
-module(pyusdt_vm_names).

-export([new/0, fire/3]).

-export_type([state/0]).

-type state() :: #{known := #{pid() => non_neg_integer()}, % a hash of the name
                   again := [pid()],                       % known ones to look at again
                   changes := term(),                      % of tracers: another one does not know the names yet
                   next := integer()}.                     % when, in milliseconds

-define(MOST_NEW, 1000).
-define(MOST_AGAIN, 200).
-define(PER_MS, 10). % processes

-spec new() -> state().
new() ->
    #{known => #{}, again => [], changes => none, next => now_ms()}.

-spec fire(Wanted :: boolean(), Changes :: term(), state()) -> state().
fire(false, _Changes, _State) ->
    new();
fire(true, Changes, #{changes := Changes, next := Next} = State) ->
    case now_ms() >= Next of
        true -> run(State);
        false -> State
    end;
fire(true, Changes, _State) ->
    run((new())#{changes := Changes}).

run(#{known := Known, again := Again} = State) ->
    Pids = processes(),
    Gone = maps:without(Pids, Known),
    maps:foreach(fun(Pid, _) -> fire_name(Pid, <<>>) end, Gone),
    Alive = maps:without(maps:keys(Gone), Known),
    New = lists:sublist([Pid || Pid <- Pids, not is_map_key(Pid, Alive)], ?MOST_NEW),
    {Now, Later} = take(?MOST_AGAIN, case Again of [] -> maps:keys(Alive); _ -> Again end),
    State#{known := lists:foldl(fun look/2, Alive, New ++ Now), again := Later, next := now_ms() + length(Pids) div ?PER_MS}.

take(N, List) when length(List) =< N -> {List, []};
take(N, List) -> lists:split(N, List).

look(Pid, Known) ->
    Name = name(Pid),
    case {erlang:phash2(Name), Known} of
        {_, _} when Name =:= <<>> -> Known;
        {Same, #{Pid := Same}} -> Known;
        {Hash, _} -> fire_name(Pid, Name), Known#{Pid => Hash}
    end.

%% A registered name is written as in the arguments of other probes.
name(Pid) ->
    case process_info(Pid, registered_name) of
        {registered_name, Name} -> Name;
        _ -> unicode:characters_to_binary(pyusdt_process_name:name(Pid))
    end.

fire_name(Pid, Name) ->
    _ = pyusdt_nif:vm_fire('process-name', [Pid, Name]),
    ok.

now_ms() ->
    erlang:monotonic_time(millisecond).
