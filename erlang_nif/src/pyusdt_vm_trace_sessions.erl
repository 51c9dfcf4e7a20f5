%% @doc Plans in trace sessions (OTP 27 and later): one for the flags of processes and ports, one for each kind of
%% pattern, since a session's tracer has one state.
%%
%% In:  the plan before and the one that is wanted; the sessions of the former.
%% Out: the sessions of the latter, and sentences about what could not be.
%% Always: other sessions are not touched; ending a session takes all away that it set. The module `trace' is called by
%% its name's value, since older OTPs have none.
-module(pyusdt_vm_trace_sessions).

-export([change/3, is_there/2]).

-type sessions() :: #{atom() => term()}.

-define(TOKEN, [{'_', [], [{message, {get_seq_token}}]}]).

-spec change(pyusdt_vm_trace_plan:plan(), pyusdt_vm_trace_plan:plan(), sessions()) -> {sessions(), [string()]}.
change(#{patterns := Before} = Old, #{patterns := Patterns} = Plan, Sessions) ->
    States = lists:usort(maps:keys(Before) ++ maps:keys(Patterns)) -- [global],
    Of_patterns = lists:foldl(fun(State, All) -> patterns(State, Before, Patterns, All) end, Sessions, States),
    {Flags, Said} = without_collection(maps:get(flags, Plan), Sessions),
    {flags(Old, Plan#{flags := Flags}, Of_patterns), Said}.

-spec is_there(pyusdt_vm_trace_plan:plan(), sessions()) -> boolean().
is_there(_Plan, Sessions) ->
    There = trace(session_info, [all]),
    lists:all(fun({_, Name}) -> lists:member(Name, There) end, maps:values(Sessions)).

trace(Function, Arguments) ->
    apply(binary_to_existing_atom(<<"trace">>), Function, Arguments).

%% A call for each list of arguments.
each(Function, Lists) ->
    lists:foreach(fun(Arguments) -> trace(Function, Arguments) end, Lists).

%% ---- patterns ----

patterns(State, Before, Patterns, Sessions) ->
    changed(State, maps:get(State, Before, []), maps:get(State, Patterns, []), Sessions).

changed(_State, Same, Same, Sessions) ->
    Sessions;
changed(State, _Before, [], Sessions) ->
    ended(State, Sessions);
changed(State, Before, Wanted, Sessions) ->
    Session = case Sessions of #{State := There} -> There; _ -> session(State) end,
    functions(Session, Before, Wanted, meta),
    Sessions#{State => Session}.

functions(Session, Before, Wanted, How) ->
    each(function, [[Session, Function, false, [How]] || {Function, _, _} <- Before -- Wanted]),
    each(function, [[Session, Function, Match, [How]] || {Function, Match, _} <- Wanted -- Before]).

session(State) ->
    trace(session_create, [pyusdt_vm, {pyusdt_nif, State}, []]).

ended(State, Sessions) ->
    case maps:take(State, Sessions) of
        {Session, Left} -> _ = trace(session_destroy, [Session]), Left;
        error -> Sessions
    end.

%% ---- flags ----

flags(_Old, #{flags := []}, Sessions) ->
    ended(vm, Sessions);
flags(Old, Plan, #{vm := Session} = Sessions) ->
    set(Session, Old, Plan),
    Sessions;
flags(_Old, Plan, Sessions) ->
    Session = session(vm),
    set(Session, pyusdt_vm_trace_plan:nothing(), Plan),
    Sessions#{vm => Session}.

set(Session, Old, Plan) ->
    tokens(Session, Old, Plan),
    functions(Session, globals(Old), globals(Plan), global),
    #{flags := Before} = Old,
    #{flags := Wanted} = Plan,
    %% Taking one away also takes the others from processes that are new, so all are set behind it.
    switch(Session, false, Before -- Wanted),
    switch(Session, true, Wanted).

globals(#{patterns := Patterns}) ->
    maps:get(global, Patterns, []).

switch(Session, On, Flags) ->
    all_at_once(process, Session, On, [Flag || {processes, Flag} <- Flags]),
    all_at_once(port, Session, On, [Flag || {ports, Flag} <- Flags]).

%% Each call goes through all processes.
all_at_once(_Function, _Session, _On, []) -> ok;
all_at_once(Function, Session, On, Flags) -> each(Function, [[Session, all, On, Flags]]).

tokens(_Session, #{tokens := Same}, #{tokens := Same}) ->
    ok;
tokens(Session, _Old, #{tokens := Tokens}) ->
    trace(send, [Session, case Tokens of true -> ?TOKEN; false -> true end, []]).

%% ---- garbage collection, which two sessions can not trace in one process (OTP's issue 11624) ----

without_collection(Flags, Sessions) ->
    Collection = {processes, garbage_collection},
    case lists:member(Collection, Flags) andalso is_collection_traced(Sessions) of
        true ->
            {lists:delete(Collection, Flags),
             ["the gc_* and heap probes stay off: another trace session traces garbage collection, and an emulator may "
              "crash where two do"]};
        false ->
            {Flags, []}
    end.

is_collection_traced(Sessions) ->
    Others = trace(session_info, [all]) -- [Name || {_, Name} <- maps:values(Sessions)],
    lists:any(fun is_collection_traced_by/1, Others).

is_collection_traced_by(Session) ->
    lists:any(fun(Who) -> has_collection(flags_of(Session, Who)) end, [new | erlang:processes()]).

flags_of({legacy, _}, Who) -> erlang:trace_info(Who, flags);
flags_of(Session, Who) -> trace(info, [Session, Who, flags]).

has_collection({flags, Flags}) -> lists:member(garbage_collection, Flags);
has_collection(_) -> false.
