%% @doc Sets the trace flags and patterns of a plan, and takes them away.
%%
%% In:  a plan ({@link pyusdt_vm_trace_plan}), what was set before.
%% Out: what is set now, and sentences about what could not be.
%% Always: what another tool traces stays its own. From OTP 27 on all is in trace sessions of ours ({@link
%% pyusdt_vm_trace_sessions}). Before, what is set is the whole node's ({@link pyusdt_vm_trace_bifs}).
-module(pyusdt_vm_trace_set).

-export([nothing/0, arm/3, disarm/1, is_ours/1]).

-export_type([armed/0]).

-type set() :: #{atom() => term()}. % by the tracer's state: a session, or the patterns that are ours
-opaque armed() :: {none | pyusdt_vm_trace_plan:plan(), set()}.

-spec nothing() -> armed().
nothing() ->
    {none, #{}}.

%% @doc Set what the plan needs, in the place of what was set. Rate: {@link pyusdt_nif:vm_control/2}.
-spec arm(pyusdt_vm_trace_plan:plan(), Rate :: non_neg_integer(), armed()) -> {armed(), [string()]}.
arm(Plan, _Rate, {Plan, _} = Armed) ->
    {Armed, []};
arm(#{flags := Flags} = Plan, Rate, {Before, Set}) ->
    ok = pyusdt_nif:vm_control(Flags =/= [], Rate),
    case lists:keymember(ports, 1, Flags) of
        true -> tell_ports();
        false -> ok
    end,
    {Now, Said} = (how()):change(plan_or_nothing(Before), Plan, Set),
    {{Plan, Now}, Said}.

%% @doc Take all of it away.
-spec disarm(armed()) -> armed().
disarm({none, _} = Armed) ->
    Armed;
disarm({Plan, Set}) ->
    ok = pyusdt_nif:vm_control(false, 0),
    {Left, _} = (how()):change(Plan, pyusdt_vm_trace_plan:nothing(), Set),
    {none, Left}.

%% @doc Whether what was set is still there: other tools may clear all that is traced.
-spec is_ours(armed()) -> boolean().
is_ours({none, _}) -> true;
is_ours({Plan, Set}) -> (how()):is_there(Plan, Set).

how() ->
    case list_to_integer(erlang:system_info(otp_release)) >= 27 of
        true -> pyusdt_vm_trace_sessions;
        false -> pyusdt_vm_trace_bifs
    end.

plan_or_nothing(none) -> pyusdt_vm_trace_plan:nothing();
plan_or_nothing(Plan) -> Plan.

%% The names of those that are open, which their events do not tell.
tell_ports() ->
    [ok = pyusdt_nif:vm_port(Port, Owner, Name)
     || Port <- erlang:ports(), {connected, Owner} <- [erlang:port_info(Port, connected)],
        {name, Long} <- [erlang:port_info(Port, name)], Name <- [lists:sublist(Long, 63)],
        lists:all(fun(C) -> C < 256 end, Name)],
    ok.
