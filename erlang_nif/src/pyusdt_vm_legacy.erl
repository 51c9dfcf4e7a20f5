%% @doc Plans before OTP 27, where what is traced is the whole node's, and a process has one tracer.
%%
%% In:  the plan before and the one that is wanted; what is ours of the former.
%% Out: what is ours now, and sentences about what was skipped.
%% Always: what another tool traces stays its own. Flags of processes are never taken from them, which could crash an
%% emulator: new processes get none any more, and the tracer answers `remove' when it is next asked. So flags that are
%% not wanted any more stay until none is; their events are discarded.
-module(pyusdt_vm_legacy).

-export([change/3, is_there/2]).

-type ours() :: #{pyusdt_vm_plan:state() => [pyusdt_vm_plan:pattern()]}.

-define(TRACER, pyusdt_nif).

%% OTP 25's own type of trace_info/2 has no {tracer, {Module, State}} and {meta, {Module, State}}, which it answers.
-dialyzer({no_match, [flags/2, skipped/1, is_ours/1, is_pattern_there/2, who/2]}).

-spec change(pyusdt_vm_plan:plan(), pyusdt_vm_plan:plan(), ours()) -> {ours(), [string()]}.
change(#{flags := Before}, #{flags := Flags, patterns := Patterns}, Ours) ->
    Said = flags(Flags -- Before, Flags),
    {Now, Skipped} = patterns(one_kind(Patterns), Ours),
    {Now, Said ++ Skipped ++ [Text || #{global := _, function := _} <- [Patterns], Text <- [both()]]}.

-spec is_there(pyusdt_vm_plan:plan(), ours()) -> boolean().
is_there(#{flags := Flags}, Ours) ->
    (Flags =:= [] orelse is_new_ours()) andalso
        lists:all(fun({State, Patterns}) -> is_pattern_there(State, Patterns) end, maps:to_list(Ours)).

%% ---- flags ----

flags([], []) ->
    _ = [erlang:trace(new, false, [all]) || is_new_ours()],
    [];
flags(Added, _Flags) ->
    Are_new_free = tracer(new) =:= [] orelse is_new_ours(),
    _ = [erlang:trace(who(Kind, Are_new_free), true, [Flag, {tracer, ?TRACER, vm}]) || {Kind, Flag} <- Added],
    skipped(Added).

who(Kind, true) -> Kind;
who(processes, false) -> existing_processes;
who(ports, false) -> existing_ports.

is_new_ours() ->
    is_ours(tracer(new)).

is_ours({?TRACER, _}) -> true;
is_ours(_) -> false.

%% [] where there is none; of one that has just ended, too.
tracer(Who) ->
    case erlang:trace_info(Who, tracer) of
        {tracer, Tracer} -> Tracer;
        undefined -> []
    end.

%% A process has one tracer, so those that another tool traces are left to it.
skipped([]) ->
    [];
skipped(_) ->
    case length([Tracer || Who <- [new | processes()], Tracer <- [tracer(Who)], Tracer =/= [], not is_ours(Tracer)]) of
        0 -> [];
        N -> [text("~b processes are traced by another tool, and left to it", [N])]
    end.

%% ---- patterns ----

%% A pattern for global calls and one for a function's own entry exclude each other here.
one_kind(#{global := _, function := _} = Patterns) -> maps:remove(global, Patterns);
one_kind(Patterns) -> Patterns.

both() ->
    "global-function-entry stays off while local-function-entry or function-return is on: before OTP 27 a function has "
        "one or the other".

patterns(Wanted, Ours) ->
    Gone = maps:filter(fun(State, Patterns) -> maps:get(State, Wanted, []) =/= Patterns end, Ours),
    maps:foreach(fun(State, Patterns) -> [clear(State, Function) || {Function, _} <- Patterns] end, Gone),
    Kept = maps:without(maps:keys(Gone), Ours),
    Set = maps:map(fun(State, Patterns) -> [Pattern || Pattern <- Patterns, set(State, Pattern)] end,
                   maps:without(maps:keys(Kept), Wanted)),
    {maps:merge(Kept, Set), left_out(count(maps:without(maps:keys(Kept), Wanted)) - count(Set))}.

count(Patterns) ->
    lists:sum([length(List) || List <- maps:values(Patterns)]).

left_out(0) -> [];
left_out(N) -> [text("~b functions are traced by another tool, or are not there, and left out", [N])].

set(global, {Function, Match}) ->
    erlang:trace_info(Function, traced) =:= {traced, false} andalso erlang:trace_pattern(Function, Match, [global]) > 0;
set(State, {Function, Match}) ->
    erlang:trace_info(Function, meta) =:= {meta, false}
        andalso erlang:trace_pattern(Function, Match, [{meta, ?TRACER, State}]) > 0.

clear(global, Function) ->
    erlang:trace_pattern(Function, false, [global]);
clear(State, Function) ->
    is_pattern_there(State, [{Function, true}]) andalso erlang:trace_pattern(Function, false, [meta]).

%% The first stands for all of them.
is_pattern_there(_State, []) -> true;
is_pattern_there(global, [{Function, _} | _]) -> erlang:trace_info(Function, traced) =:= {traced, global};
is_pattern_there(State, [{Function, _} | _]) -> erlang:trace_info(Function, meta) =:= {meta, {?TRACER, State}}.

text(Format, Arguments) ->
    lists:flatten(io_lib:format(Format, Arguments)).
