%% @doc Sets and removes the trace flags and patterns of a plan ({@link pyusdt_vm_trace_plan}).
%%
%% What another tool traces stays its own. From OTP 27 on a plan is set in trace sessions ({@link
%% pyusdt_vm_trace_sessions}), before that globally ({@link pyusdt_vm_trace_bifs}). The result has
%% sentences about everything that could not be set.
-module(pyusdt_vm_trace_set).

-export([nothing/0, set_plan/3, clear_plan/1, is_intact/1]).

-export_type([armed/0]).

-type set() :: #{atom() => term()}. % by the tracer's state: a session, or our patterns
-opaque armed() :: {none | pyusdt_vm_trace_plan:plan(), set()}.

-spec nothing() -> armed().
nothing() ->
    {none, #{}}.

%% @doc Set the plan instead of the former one. Limits: {@link pyusdt_nif:vm_begin/3}.
-spec set_plan(pyusdt_vm_trace_plan:plan(), Limits :: {Rate :: non_neg_integer(), Depth :: pos_integer(), Secrets :: boolean()}, armed()) -> {armed(), [pyusdt_vm_refusals:refusal()]}.
set_plan(Plan, _Limits, {Plan, _} = Armed) ->
    {Armed, []};
set_plan(#{flags := Flags} = Plan, {Rate, Depth, Secrets}, {Before, Set}) ->
    Before =:= none andalso pyusdt_nif:vm_begin(Rate, Depth, Secrets),
    ok = pyusdt_nif:vm_set_controller(Flags =/= []),
    case lists:keymember(ports, 1, Flags) of
        true -> register_ports();
        false -> ok
    end,
    {Now, Refusals} = (implementation()):change(plan_or_nothing(Before), Plan, Set),
    {{Plan, Now}, Refusals}.

%% @doc Take all of it away. The limit of the rate holds meanwhile, and events that exceeded it are dropped until the next plan.
-spec clear_plan(armed()) -> armed().
clear_plan({none, _} = Armed) ->
    Armed;
clear_plan({Plan, Set}) ->
    ok = pyusdt_nif:vm_set_controller(false),
    {Left, _} = (implementation()):change(Plan, pyusdt_vm_trace_plan:nothing(), Set),
    {none, Left}.

%% @doc Whether the plan is still set: other tools may clear all tracing.
-spec is_intact(armed()) -> boolean().
is_intact({none, _}) -> true;
is_intact({Plan, Set}) -> (implementation()):is_there(Plan, Set).

implementation() ->
    case list_to_integer(erlang:system_info(otp_release)) >= 27 of
        true -> pyusdt_vm_trace_sessions;
        false -> pyusdt_vm_trace_bifs
    end.

plan_or_nothing(none) -> pyusdt_vm_trace_plan:nothing();
plan_or_nothing(Plan) -> Plan.

%% The names of open ports, which their events do not have.
register_ports() ->
    [ok = pyusdt_nif:vm_port(Port, Owner, Name)
     || Port <- erlang:ports(), {connected, Owner} <- [erlang:port_info(Port, connected)],
        {name, Long} <- [erlang:port_info(Port, name)], Name <- [lists:sublist(Long, 63)],
        lists:all(fun(C) -> C < 256 end, Name)],
    ok.
