%% @doc Sets plans by trace sessions (OTP 27 and later): one for the flags of processes and ports,
%% and one for each kind of pattern, since a session's tracer has one state.
%%
%% Other sessions stay unchanged. The end of a session removes everything that it set. The module
%% `trace' is called through a variable, since older OTPs do not have it.
-module(pyusdt_vm_trace_sessions).

-export([change/3, is_there/2]).

-type sessions() :: #{atom() => term()}.

-define(TOKEN, [{'_', [], [{message, {get_seq_token}}]}]).

-spec change(pyusdt_vm_trace_plan:plan(), pyusdt_vm_trace_plan:plan(), sessions()) -> {sessions(), [pyusdt_vm_refusals:refusal()]}.
change(#{patterns := Before} = Old, #{patterns := Patterns} = Plan, Sessions) ->
    States = lists:usort(maps:keys(Before) ++ maps:keys(Patterns)) -- [global],
    Of_patterns = lists:foldl(fun(State, All) -> change_patterns(State, Before, Patterns, All) end, Sessions, States),
    {Flags, Refusals} = without_collection(maps:get(flags, Plan), Sessions),
    {change_flags(Old, Plan#{flags := Flags}, Of_patterns), Refusals}.

-spec is_there(pyusdt_vm_trace_plan:plan(), sessions()) -> boolean().
is_there(_Plan, Sessions) ->
    There = call_trace(session_info, [all]),
    lists:all(fun({_, Name}) -> lists:member(Name, There) end, maps:values(Sessions)).

call_trace(Function, Arguments) ->
    apply(binary_to_existing_atom(<<"trace">>), Function, Arguments).

%% A call for each list of arguments.
call_each(Function, Lists) ->
    lists:foreach(fun(Arguments) -> call_trace(Function, Arguments) end, Lists).

%% ---- patterns ----

change_patterns(State, Before, Patterns, Sessions) ->
    change_session(State, maps:get(State, Before, []), maps:get(State, Patterns, []), Sessions).

change_session(_State, Same, Same, Sessions) ->
    Sessions;
change_session(State, _Before, [], Sessions) ->
    end_session(State, Sessions);
change_session(State, Before, Wanted, Sessions) ->
    Session = case Sessions of #{State := There} -> There; _ -> create_session(State) end,
    set_patterns(Session, Before, Wanted, meta),
    Sessions#{State => Session}.

set_patterns(Session, Before, Wanted, How) ->
    %% one that changes is replaced, so that no call between is missed
    call_each(function, [[Session, Function, false, [How]] || {Function, _, _} <- Before -- Wanted, not lists:keymember(Function, 1, Wanted)]),
    {Whole, Single} = pyusdt_vm_trace_plan:whole_modules(Wanted -- Before),
    lists:foreach(fun({Module, Match, Others, _}) ->
                          call_each(function, [[Session, {Module, '_', '_'}, Match, [How]] | [[Session, Other, false, [How]] || Other <- Others]])
                  end, Whole),
    set_each(Session, Single, How).

%% Events may be too many before all is set: then the rest is not, since the limit is about to end the session.
set_each(Session, Patterns, How) ->
    _ = [call_trace(function, [Session, Function, Match, [How]]) || {Function, Match, _} <- Patterns, pyusdt_nif:vm_read_overrun() =:= false],
    ok.

create_session(State) ->
    call_trace(session_create, [pyusdt_vm, {pyusdt_nif, State}, []]).

end_session(State, Sessions) ->
    case maps:take(State, Sessions) of
        {Session, Left} -> _ = call_trace(session_destroy, [Session]), Left;
        error -> Sessions
    end.

%% ---- flags ----

change_flags(_Old, #{flags := []}, Sessions) ->
    end_session(vm, Sessions);
change_flags(Old, Plan, #{vm := Session} = Sessions) ->
    set_session(Session, Old, Plan),
    Sessions;
change_flags(_Old, Plan, Sessions) ->
    Session = create_session(vm),
    set_session(Session, pyusdt_vm_trace_plan:nothing(), Plan),
    Sessions#{vm => Session}.

set_session(Session, Old, Plan) ->
    set_tokens(Session, Old, Plan),
    set_patterns(Session, global_patterns(Old), global_patterns(Plan), global),
    #{flags := Before} = Old,
    #{flags := Wanted} = Plan,
    %% Taking one away also takes the others from processes that are new, so all are set behind it.
    switch_flags(Session, false, Before -- Wanted),
    switch_flags(Session, true, Wanted).

global_patterns(#{patterns := Patterns}) ->
    maps:get(global, Patterns, []).

switch_flags(Session, On, Flags) ->
    all_at_once(process, Session, On, [Flag || {processes, Flag} <- Flags]),
    all_at_once(port, Session, On, [Flag || {ports, Flag} <- Flags]).

%% Each call visits all processes.
all_at_once(_Function, _Session, _On, []) -> ok;
all_at_once(Function, Session, On, Flags) -> call_each(Function, [[Session, all, On, Flags]]).

set_tokens(_Session, #{tokens := Same}, #{tokens := Same}) ->
    ok;
set_tokens(Session, _Old, #{tokens := Tokens}) ->
    call_trace(send, [Session, case Tokens of true -> ?TOKEN; false -> true end, []]).

%% ---- garbage collection, which two sessions cannot trace in one process (OTP's issue 11624) ----

without_collection(Flags, Sessions) ->
    Collection = {processes, garbage_collection},
    case lists:member(Collection, Flags) andalso is_collection_traced(Sessions) of
        true ->
            {lists:delete(Collection, Flags),
             [{processes, ['gc_major-start', 'gc_minor-start', 'gc_major-end', 'gc_minor-end', 'process-heap_grow', 'process-heap_shrink'],
               "the gc_* and heap probes stay off: another trace session traces garbage collection, and an emulator may "
               "crash where two do"}]};
        false ->
            {Flags, []}
    end.

is_collection_traced(Sessions) ->
    Others = call_trace(session_info, [all]) -- [Name || {_, Name} <- maps:values(Sessions)],
    lists:any(fun is_collection_traced_by/1, Others).

is_collection_traced_by(Session) ->
    lists:any(fun(Process) -> has_collection(read_flags(Session, Process)) end, [new | erlang:processes()]).

read_flags({legacy, _}, Process) -> erlang:trace_info(Process, flags);
read_flags(Session, Process) -> call_trace(info, [Session, Process, flags]).

has_collection({flags, Flags}) -> lists:member(garbage_collection, Flags);
has_collection(_) -> false.
