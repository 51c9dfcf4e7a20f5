%% @doc Plans before OTP 27, where what is traced is the whole node's, and a process has one tracer.
%%
%% In:  the plan before and the one that is wanted; what is ours of the former.
%% Out: what is ours now, and sentences about what was skipped.
%% Always: what another tool traces stays its own. Flags of processes are never taken from them, which could crash an
%% emulator: new processes get none any more, and the tracer answers `remove' when it is next asked. So flags that are
%% not wanted any more stay until none is; their events are discarded.
-module(pyusdt_vm_trace_bifs).

-export([change/3, is_there/2]).

-type ours() :: #{pyusdt_vm_trace_plan:state() => [pyusdt_vm_trace_plan:pattern()]}.

-define(TRACER, pyusdt_nif).

%% OTP 25's own type of trace_info/2 has no {tracer, {Module, State}} and {meta, {Module, State}}, which it answers.
-dialyzer({no_match, [flags/2, skipped/0, is_ours/1, is_pattern_there/2, who/1]}).

-spec change(pyusdt_vm_trace_plan:plan(), pyusdt_vm_trace_plan:plan(), ours()) -> {ours(), [string()]}.
change(#{flags := Before}, #{flags := Flags, patterns := Patterns}, Ours) ->
    Said = flags(Flags -- Before, Flags),
    {Now, Skipped} = patterns(one_kind(Patterns), Ours),
    {Now, Said ++ Skipped ++ [Text || #{global := _, function := _} <- [Patterns], Text <- [both()]]}.

-spec is_there(pyusdt_vm_trace_plan:plan(), ours()) -> boolean().
is_there(#{flags := Flags}, Ours) ->
    lists:all(fun({Kind, _}) -> is_ours(tracer(new(Kind))) end, Flags) andalso
        lists:all(fun({State, Patterns}) -> is_pattern_there(State, Patterns) end, maps:to_list(Ours)).

%% ---- flags ----

flags([], []) ->
    _ = [erlang:trace(new(Kind), false, [all]) || Kind <- [processes, ports], is_ours(tracer(new(Kind)))],
    [];
flags(Added, _Flags) ->
    Before = erlang:system_info(process_count),
    _ = flags_of(ports, Added),
    case flags_of(processes, Added) of
        {processes, Set} when Set >= Before -> [];
        nothing -> [];
        _ -> skipped()
    end.

%% All of a kind at once: each call goes through all processes.
flags_of(Kind, Added) ->
    case [Flag || {Of, Flag} <- Added, Of =:= Kind] of
        [] -> nothing;
        Flags -> Who = who(Kind), {Who, erlang:trace(Who, true, [{tracer, ?TRACER, vm} | Flags])}
    end.

%% With those that are new, unless another tool traces these.
who(Kind) ->
    Tracer = tracer(new(Kind)),
    case Tracer =:= [] orelse is_ours(Tracer) of
        true -> Kind;
        false -> existing(Kind)
    end.

new(processes) -> new_processes;
new(ports) -> new_ports.

existing(processes) -> existing_processes;
existing(ports) -> existing_ports.

is_ours({?TRACER, _}) -> true;
is_ours(_) -> false.

%% [] where there is none; of one that has just ended, too.
tracer(Who) ->
    case erlang:trace_info(Who, tracer) of
        {tracer, Tracer} -> Tracer;
        undefined -> []
    end.

%% A process has one tracer, so those that another tool traces are left to it. Asking each one takes long where they are
%% many, so that is done only where fewer were set than there are.
skipped() ->
    case length([Tracer || Who <- [new_processes | processes()], Tracer <- [tracer(Who)], Tracer =/= [], not is_ours(Tracer)]) of
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
    States = lists:usort(maps:keys(Wanted) ++ maps:keys(Ours)),
    {Now, Left_out} = lists:unzip([patterns(State, maps:get(State, Wanted, []), maps:get(State, Ours, [])) || State <- States]),
    {maps:from_list([{State, Patterns} || {State, [_ | _] = Patterns} <- Now]), left_out(lists:sum(Left_out))}.

patterns(State, Wanted, Ours) ->
    lists:foreach(fun(Pattern) -> clear(State, Pattern) end, Ours -- Wanted),
    New = Wanted -- Ours,
    Set = [Pattern || Pattern <- New, set(State, Pattern)],
    {{State, (Ours -- (Ours -- Wanted)) ++ Set}, length(New) - length(Set)}.

left_out(0) -> [];
left_out(N) -> [text("~b functions are traced by another tool, or are not there, and left out", [N])].

set(global, {Function, Match, _}) ->
    erlang:trace_info(Function, traced) =:= {traced, false} andalso erlang:trace_pattern(Function, Match, [global]) > 0;
set(State, {Function, Match, _}) ->
    erlang:trace_info(Function, meta) =:= {meta, false}
        andalso erlang:trace_pattern(Function, Match, [{meta, ?TRACER, State}]) > 0.

clear(State, {Function, _, _} = Pattern) ->
    is_pattern_there(State, [Pattern]) andalso erlang:trace_pattern(Function, false, [how(State)]).

how(global) -> global;
how(_) -> meta.

%% The first stands for all of them.
is_pattern_there(_State, []) -> true;
is_pattern_there(global, [{Function, _, _} | _]) -> erlang:trace_info(Function, traced) =:= {traced, global};
is_pattern_there(State, [{Function, _, _} | _]) -> erlang:trace_info(Function, meta) =:= {meta, {?TRACER, State}}.

text(Format, Arguments) ->
    lists:flatten(io_lib:format(Format, Arguments)).
