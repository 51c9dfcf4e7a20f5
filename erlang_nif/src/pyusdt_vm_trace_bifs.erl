%% @doc Sets plans before OTP 27, where tracing is global to the node, and a process has one tracer.
%%
%% What another tool traces stays its own. Flags are never removed from processes, since that could
%% crash the emulator. New processes get no flags any more, and the tracer returns `remove' when it
%% is next asked. Flags that are no longer wanted thus stay until none is wanted; their events are
%% discarded.
-module(pyusdt_vm_trace_bifs).

-export([change/3, is_there/2]).

-type ours() :: #{pyusdt_vm_trace_plan:state() => [pyusdt_vm_trace_plan:pattern()]}.

-define(TRACER, pyusdt_nif).

%% OTP 25's own type of trace_info/2 has no {tracer, {Module, State}} and {meta, {Module, State}}, which it answers.
-dialyzer({no_match, [set_flags/2, report_skipped/0, is_ours/1, is_pattern_there/2, trace_scope/1, is_cleared_by/3, is_free/2]}).

-spec change(pyusdt_vm_trace_plan:plan(), pyusdt_vm_trace_plan:plan(), ours()) -> {ours(), [pyusdt_vm_refusals:refusal()]}.
change(#{flags := Before}, #{flags := Flags, patterns := Patterns}, Ours) ->
    Of_flags = set_flags(Flags -- Before, Flags),
    {Now, Of_patterns} = change_patterns(without_conflict(Patterns), Ours),
    {Now, Of_flags ++ Of_patterns ++ [exclusive_refusal() || #{global := _, function := _} <- [Patterns]]}.

-spec is_there(pyusdt_vm_trace_plan:plan(), ours()) -> boolean().
is_there(#{flags := Flags}, Ours) ->
    lists:all(fun({Kind, _}) -> is_ours(read_tracer(new_scope(Kind))) end, Flags) andalso
        lists:all(fun({State, Patterns}) -> is_pattern_there(State, Patterns) end, maps:to_list(Ours)).

%% ---- flags ----

set_flags([], []) ->
    _ = [erlang:trace(new_scope(Kind), false, [all]) || Kind <- [processes, ports], is_ours(read_tracer(new_scope(Kind)))],
    [];
set_flags(Added, _Flags) ->
    Before = erlang:system_info(process_count),
    _ = set_flags_of(ports, Added),
    case set_flags_of(processes, Added) of
        {processes, Set} when Set >= Before -> [];
        nothing -> [];
        _ -> report_skipped()
    end.

%% All of a kind at once: each call visits all processes.
set_flags_of(Kind, Added) ->
    case [Flag || {Of, Flag} <- Added, Of =:= Kind] of
        [] -> nothing;
        Flags -> Scope = trace_scope(Kind), {Scope, erlang:trace(Scope, true, [{tracer, ?TRACER, vm} | Flags])}
    end.

%% With those that are new, unless another tool traces these.
trace_scope(Kind) ->
    Tracer = read_tracer(new_scope(Kind)),
    case Tracer =:= [] orelse is_ours(Tracer) of
        true -> Kind;
        false -> existing_scope(Kind)
    end.

new_scope(processes) -> new_processes;
new_scope(ports) -> new_ports.

existing_scope(processes) -> existing_processes;
existing_scope(ports) -> existing_ports.

is_ours({?TRACER, _}) -> true;
is_ours(_) -> false.

%% [] if there is none, or if the process has just ended.
read_tracer(Scope) ->
    case erlang:trace_info(Scope, tracer) of
        {tracer, Tracer} -> Tracer;
        undefined -> []
    end.

%% A process has one tracer, so processes that another tool traces are left to it. Asking each one
%% takes long if they are many, so that is done only if fewer were set than there are.
report_skipped() ->
    case length([Tracer || Scope <- [new_processes | processes()], Tracer <- [read_tracer(Scope)], Tracer =/= [], not is_ours(Tracer)]) of
        0 -> [];
        N -> [{processes, [], format_text("~b processes are traced by another tool, and left to it", [N])}]
    end.

%% ---- patterns ----

%% A pattern for global calls and one for a function's own entry exclude each other here.
without_conflict(#{global := _, function := _} = Patterns) -> maps:remove(global, Patterns);
without_conflict(Patterns) -> Patterns.

exclusive_refusal() ->
    {functions, ['global-function-entry'],
     "global-function-entry stays off while local-function-entry or function-return is on: before OTP 27 a function has "
     "one or the other"}.

change_patterns(Wanted, Ours) ->
    States = lists:usort(maps:keys(Wanted) ++ maps:keys(Ours)),
    %% A function whose return is wanted no more goes to another state, so all are cleared before any is set.
    lists:foreach(fun(State) -> clear_patterns(State, ended_patterns(maps:get(State, Ours, []), maps:get(State, Wanted, []))) end, States),
    {Now, Left_out} = lists:unzip([add_patterns(State, maps:get(State, Wanted, []), maps:get(State, Ours, [])) || State <- States]),
    {maps:from_list([{State, Patterns} || {State, [_ | _] = Patterns} <- Now]), left_out_refusal(lists:append(Left_out))}.

%% One that changes is replaced, so that no call between is missed.
ended_patterns(Ours, Wanted) ->
    [Pattern || {Function, _, _} = Pattern <- Ours -- Wanted, not lists:keymember(Function, 1, Wanted)].

add_patterns(State, Wanted, Ours) ->
    New = Wanted -- Ours,
    Set = set_patterns(State, New),
    {{State, (Ours -- (Ours -- Wanted)) ++ Set}, [MFA || {MFA, _, _} <- New -- Set]}.

left_out_refusal([]) ->
    [];
left_out_refusal([{Module, Function, Arity} | _] = All) ->
    [{functions, [], format_text("~b functions are traced by another tool, or are not there, and left out: ~tw:~tw/~b~ts",
                                 [length(All), Module, Function, Arity, case All of [_] -> ""; _ -> " ..." end])}].

%% Events may be too many before all is set: then the rest is not, and counts as set, since the limit is about to clear it.
set_patterns(State, Patterns) ->
    {Whole, Single} = case pattern_kind(State) of
                          meta -> pyusdt_vm_trace_plan:whole_modules(Patterns);
                          global -> {[], Patterns}
                      end,
    lists:append([set_module(State, Module) || Module <- Whole])
        ++ [Pattern || Pattern <- Single, pyusdt_nif:vm_read_overrun() =/= false orelse set_pattern(State, Pattern)].

set_module(State, {Module, Match, Others, Patterns}) ->
    case lists:all(fun(Function) -> is_free(State, Function) end, Others ++ [Function || {Function, _, _} <- Patterns]) of
        true ->
            _ = erlang:trace_pattern({Module, '_', '_'}, Match, [{meta, ?TRACER, State}]),
            _ = [erlang:trace_pattern(Other, false, [meta]) || Other <- Others],
            [Pattern || {Function, _, _} = Pattern <- Patterns, erlang:trace_info(Function, meta) =/= {meta, false}];
        false ->
            [Pattern || Pattern <- Patterns, set_pattern(State, Pattern)]
    end.

set_pattern(global, {Function, Match, _}) ->
    erlang:trace_info(Function, traced) =:= {traced, false} andalso erlang:trace_pattern(Function, Match, [global]) > 0;
set_pattern(State, {Function, Match, _}) ->
    is_free(State, Function) andalso erlang:trace_pattern(Function, Match, [{meta, ?TRACER, State}]) > 0.

is_free(State, Function) ->
    case erlang:trace_info(Function, meta) of
        {meta, false} -> true;
        {meta, Tracer} -> Tracer =:= {?TRACER, State};
        undefined -> false
    end.

%% Each call waits for all schedulers, which takes long if they are busy: one for a module, if nothing else of it is traced.
clear_patterns(State, Patterns) ->
    By_module = maps:groups_from_list(fun({{Module, _, _}, _, _}) -> Module end, Patterns),
    maps:foreach(fun(Module, Of) -> clear_patterns_of(State, Module, Of) end, By_module).

clear_patterns_of(State, Module, [_, _ | _] = Patterns) ->
    Ours = sets:from_list([Function || {Function, _, _} <- Patterns]),
    case lists:all(fun(Function) -> is_cleared_by(State, Function, Ours) end, pyusdt_vm_trace_plan:functions_of(Module)) of
        true -> erlang:trace_pattern({Module, '_', '_'}, false, [pattern_kind(State)]);
        false -> lists:foreach(fun(Pattern) -> clear_pattern(State, Pattern) end, Patterns)
    end;
clear_patterns_of(State, _Module, Patterns) ->
    lists:foreach(fun(Pattern) -> clear_pattern(State, Pattern) end, Patterns).

%% A pattern of this kind that the function has is one of ours that is to be cleared.
is_cleared_by(State, Function, Ours) ->
    case erlang:trace_info(Function, case pattern_kind(State) of global -> traced; meta -> meta end) of
        {meta, {?TRACER, State}} -> sets:is_element(Function, Ours);
        {meta, Meta} -> Meta =:= false;
        {traced, global} -> sets:is_element(Function, Ours);
        {traced, _} -> true;
        undefined -> true
    end.

clear_pattern(State, {Function, _, _} = Pattern) ->
    is_pattern_there(State, [Pattern]) andalso erlang:trace_pattern(Function, false, [pattern_kind(State)]).

pattern_kind(global) -> global;
pattern_kind(_) -> meta.

%% The first one represents all of them.
is_pattern_there(_State, []) -> true;
is_pattern_there(global, [{Function, _, _} | _]) -> erlang:trace_info(Function, traced) =:= {traced, global};
is_pattern_there(State, [{Function, _, _} | _]) -> erlang:trace_info(Function, meta) =:= {meta, {?TRACER, State}}.

format_text(Format, Arguments) ->
    lists:flatten(io_lib:format(Format, Arguments)).
