%% @doc The controlling process of the emulator's own probes.
%%
%% The core's watcher sends `changed' when tracers want other probes. While they want any, the
%% process checks five times a second. It sets flags and patterns ({@link pyusdt_vm_trace_set}), and
%% fires the probes of the emulator's messages ({@link pyusdt_vm_system_monitor}). Only this process
%% sets and removes flags and patterns.
%%
%% It stops tracing that exceeds the limits of rate and time, or that another tool has cleared,
%% until no tracer wants a probe any more. The log and `info/0' report that.
-module(pyusdt_vm_server).

-behaviour(gen_server).

-export([start/1, start_link/1, stop/0, info/0, apply_demand/0]).
-export([init/1, handle_call/3, handle_cast/2, handle_info/2, terminate/2]).

-define(CHECK_MS, 200).
-define(CHECKS_PER_SECOND, 5).
-define(DEFAULTS, #{functions => [], rate => 200000, loops => [], depth => 10000, secrets => false, time => 3600000, unsafe => false, long => 100, large => 10000000}).

-record(state, {options :: pyusdt_vm:options(),
                given :: [atom()],
                armed :: pyusdt_vm_trace_set:armed(),
                wanted = [] :: [atom()],
                since = 0 :: integer(),             % when it was armed, in milliseconds
                checks = 0 :: non_neg_integer(),
                timer = none :: none | reference(), % of the next check
                has_watcher = false :: boolean(),       % which reports changes
                changes = 0 :: non_neg_integer(),
                code = 0 :: non_neg_integer(),      % a number for the code that is loaded
                planned = none :: term(),           % the arguments of the plan
                ended = [] :: [mfa()],              % functions whose returns are no longer traced
                monitor :: pyusdt_vm_system_monitor:state(),      % what is monitored
                names = pyusdt_vm_names:new() :: pyusdt_vm_names:state(),
                refused = none :: none | string(),  % why it stays off until no probe is wanted
                refusals = pyusdt_vm_refusals:new() :: pyusdt_vm_refusals:state()}).

-spec start(term()) -> {ok, pid()} | {error, term()}.
start(Options) ->
    pyusdt_server:start(?MODULE, Options).

-spec start_link(term()) -> {ok, pid()} | {error, term()}.
start_link(Options) ->
    pyusdt_server:start_link(?MODULE, Options).

-spec stop() -> ok.
stop() ->
    pyusdt_server:stop(?MODULE).

-spec info() -> pyusdt_vm:info() | {error, disabled}.
info() ->
    pyusdt_server:info(?MODULE).

-define(APPLY_MS, 10000).

%% @doc Set what tracers want now, instead of at the next check. Nothing, if the probes are not offered or the server is busy.
-spec apply_demand() -> ok.
apply_demand() ->
    try gen_server:call(?MODULE, apply_demand, ?APPLY_MS)
    catch exit:_ -> ok
    end.

%% ---- gen_server ----

-spec init(term()) -> {ok, #state{}} | {stop, term()}.
init(Given) ->
    case check_options(Given) of
        {ok, Options} -> start_with(Options, pyusdt_vm_trace_plan:offered_probes(Options));
        {error, Reason} -> {stop, Reason}
    end.

start_with(Options, Probes) ->
    process_flag(trap_exit, true),
    pyusdt_server:leave_remote_leader(),
    case pyusdt_nif:vm_define(Probes) of
        ok ->
            State = #state{options = Options, given = Probes, armed = pyusdt_vm_trace_set:nothing(), monitor = pyusdt_vm_system_monitor:nothing()},
            ok = pyusdt_nif:vm_set_controller(false),
            {ok, schedule_check(report(old_otp_refusal(Probes), State#state{has_watcher = pyusdt_nif:vm_watch(true)}))};
        {error, Reason} ->
            {stop, Reason}
    end.

-spec handle_call(term(), gen_server:from(), #state{}) -> {reply, term(), #state{}}.
handle_call(info, _From, State) ->
    #state{given = Given, wanted = Wanted, refused = Refused, refusals = Refusals} = State,
    Info = #{given => Given, wanted => Wanted, armed => Wanted =/= [] andalso Refused =:= none, refused => Refused,
             messages => pyusdt_vm_refusals:messages(Refusals)},
    {reply, Info, State};
handle_call(apply_demand, _From, State) ->
    {reply, ok, schedule_check(check_demand(State))}.

-spec handle_cast(term(), #state{}) -> {noreply, #state{}}.
handle_cast(_, State) ->
    {noreply, State}.

-spec handle_info(term(), #state{}) -> {noreply, #state{}}.
handle_info(check, #state{checks = Checks} = State) ->
    {noreply, schedule_check(check_demand(State#state{checks = Checks + 1, timer = none}))};
handle_info(changed, #state{changes = Changes} = State) ->
    {noreply, schedule_check(check_demand(State#state{changes = Changes + 1}))};
handle_info(Message, State) ->
    ok = pyusdt_vm_system_monitor:handle_message(Message),
    {noreply, State}.

-spec terminate(term(), #state{}) -> ok.
terminate(_Reason, State) ->
    _ = clear_plan(State),
    _ = pyusdt_vm_refusals:clear(State#state.refusals),
    _ = pyusdt_nif:vm_watch(false),
    ok.

%% ---- options ----

check_options(Given) when is_map(Given) ->
    Options = maps:merge(?DEFAULTS, Given),
    case [Name || {Name, Value} <- maps:to_list(Options), not is_option(Name, Value)] of
        [] -> {ok, Options};
        Wrong -> {error, {badarg, Wrong}}
    end;
check_options(Given) ->
    {error, {badarg, Given}}.

is_option(functions, Modules) -> is_list(Modules) andalso lists:all(fun is_atom/1, Modules);
is_option(loops, Functions) -> is_list(Functions) andalso lists:all(fun is_function_name/1, Functions);
is_option(depth, Depth) -> is_number_to_be(Depth);
is_option(rate, Rate) -> is_limit(Rate);
is_option(time, Time) -> is_limit(Time);
is_option(long, Milliseconds) -> is_number_to_be(Milliseconds);
is_option(large, Words) -> is_number_to_be(Words);
is_option(secrets, Shown) -> is_boolean(Shown);
is_option(unsafe, Unsafe) -> is_boolean(Unsafe);
is_option(_, _) -> false.

is_function_name({Module, Function, Arity}) -> is_atom(Module) andalso is_atom(Function) andalso is_integer(Arity) andalso Arity >= 0;
is_function_name(_) -> false.

is_limit(Limit) -> Limit =:= infinity orelse is_number_to_be(Limit).

is_number_to_be(Number) -> is_integer(Number) andalso Number > 0 andalso Number < 1 bsl 32.

old_otp_refusal(Probes) ->
    [{modules, [], "this emulator is older than OTP 25.3: switching off what processes do can crash it, so only the probes of functions, "
     "calls of OTP's own functions, exit signals, nodes and busy ports are offered; pyusdt_vm:enable(#{unsafe => true}) in the node, "
     "which no tracer can do, offers all"}
     || not lists:member('process-spawn', Probes)].

%% ---- demand ----

%% While no probe is wanted, the watcher wakes this process.
schedule_check(#state{has_watcher = true, wanted = []} = State) ->
    State;
schedule_check(#state{timer = none} = State) ->
    State#state{timer = erlang:send_after(?CHECK_MS, self(), check)};
schedule_check(State) ->
    State.

check_demand(State) ->
    case pyusdt_nif:vm_wanted() of
        [] ->
            Cleared = clear_plan(State),
            Cleared#state{wanted = [], names = pyusdt_vm_names:new(), refused = none, planned = none, ended = [], refusals = pyusdt_vm_refusals:clear(Cleared#state.refusals)};
        _ -> check_sessions(State)
    end.

%% vm_check_sessions/0 detects tracers that have ended, so the wanted probes are read after it.
check_sessions(#state{refused = none} = State) ->
    Tokens = pyusdt_nif:vm_check_sessions(),
    Wanted = pyusdt_nif:vm_wanted(),
    Named = fire_names(Wanted, State),
    #state{monitor = Monitor} = Armed = set_plan(Wanted, Tokens, end_deep_returns(read_code_hash(Named))),
    enforce_limits(check_monitor(Armed#state{monitor = pyusdt_vm_system_monitor:sample(Monitor)}));
check_sessions(State) ->
    _ = pyusdt_nif:vm_check_sessions(),
    State#state{wanted = pyusdt_nif:vm_wanted()}.

%% Before anything is traced: the first events' processes have names then.
fire_names(Wanted, #state{changes = Changes, names = Names} = State) ->
    State#state{names = pyusdt_vm_names:fire(lists:member('process-name', Wanted), Changes, Names)}.

check_monitor(#state{checks = Checks, monitor = Monitor} = State) when Checks rem ?CHECKS_PER_SECOND =:= 0 ->
    report(pyusdt_vm_system_monitor:check(Monitor), [monitor], State);
check_monitor(State) ->
    State.

%% Code that was loaded since has no patterns yet.
read_code_hash(#state{checks = Checks} = State) when Checks rem ?CHECKS_PER_SECOND =:= 0 ->
    State#state{code = pyusdt_vm_trace_plan:code_hash()};
read_code_hash(State) ->
    State.

%% A loop that the code did not show, or a deep recursion, has grown its process.
end_deep_returns(#state{wanted = Wanted, ended = Ended} = State) ->
    Deep = case lists:member('function-return', Wanted) of true -> pyusdt_nif:vm_deep_processes(); false -> [] end,
    report([deep_refusal(Process) || Process <- deepest_of_each(Deep)],
           State#state{ended = lists:usort([{Module, Function, Arity} || {_, _, Module, Function, Arity} <- Deep] ++ Ended)}).

deepest_of_each(Deep) ->
    maps:values(maps:from_list([{MFA, Process} || {_, _, Module, Function, Arity} = Process <- lists:keysort(2, Deep),
                                                  MFA <- [{Module, Function, Arity}]])).

deep_refusal({Pid, Open, Module, Function, Arity}) ->
    {functions, ['function-return'],
     format_text("the returns of ~tw:~tw/~b are traced no more: ~p had ~b calls open, whose frames stay on its stack until they return. The "
                 "node allows more by pyusdt_vm:enable(#{depth => N})", [Module, Function, Arity, Pid, Open])}.

set_plan(Wanted, Tokens, #state{changes = Changes, code = Code, ended = Ended, planned = {Wanted, Tokens, Changes, Code, Ended}} = State) ->
    State;
set_plan(Wanted, Tokens, #state{options = Options, armed = Before, changes = Changes, code = Code, ended = Ended} = State) ->
    {Plan, Of_loops} = pyusdt_vm_trace_plan:plan(Wanted, Tokens, Options, Ended),
    #{rate := Rate, depth := Depth, secrets := Secrets} = Options,
    _ = Secrets orelse pyusdt_vm_records:learn(Plan),
    {Armed, Refusals} = go_first(fun() -> pyusdt_vm_trace_set:set_plan(Plan, {to_number(Rate), Depth, Secrets}, Before) end),
    Reported = report(Refusals ++ Of_loops ++ modules_refusal(Wanted, Options) ++ pyusdt_vm_trace_plan:unmatched(Wanted), [modules, absent, later, loops], State),
    change_monitor(Plan, Reported#state{armed = Armed, wanted = Wanted, since = armed_since(State), planned = {Wanted, Tokens, Changes, Code, Ended}}).

change_monitor(Plan, #state{monitor = Before} = State) ->
    {Monitor, Refusals} = pyusdt_vm_system_monitor:change_plan(Plan, Before),
    report(Refusals, State#state{monitor = Monitor}).

armed_since(#state{wanted = []}) -> erlang:monotonic_time(millisecond);
armed_since(#state{since = Since}) -> Since.

to_number(infinity) -> 0;
to_number(Rate) -> Rate.

clear_plan(#state{armed = Armed} = State) ->
    Cleared = go_first(fun() -> pyusdt_vm_trace_set:clear_plan(Armed) end),
    change_monitor(pyusdt_vm_trace_plan:nothing(), State#state{armed = Cleared}).

%% In a node that the tracing has made busy, this process goes first.
go_first(Change) ->
    Before = process_flag(priority, high),
    try Change()
    after process_flag(priority, Before)
    end.

modules_refusal(Wanted, #{functions := []}) ->
    [{modules, [Probe], format_text("~s of no module: name one in the clause, or modules in the option functions", [Probe])}
     || Probe <- pyusdt_vm_trace_plan:any_module_probes(Wanted)];
modules_refusal(_, _) ->
    [].

%% ---- limits ----

enforce_limits(State) ->
    case exceeded_limit(State) of
        none -> State;
        Reason -> clear_plan((report([{limit, [], Reason}], State))#state{refused = Reason})
    end.

exceeded_limit(#state{armed = Armed, checks = Checks} = State) ->
    case pyusdt_nif:vm_read_overrun() of
        {Events, Microseconds} ->
            format_text("switched off: ~b events in ~b us on one scheduler are more than the option rate allows. Trace less, or let the "
                        "node allow more: pyusdt_vm:disable(), pyusdt_vm:enable(#{rate => N})", [Events, Microseconds]);
        false ->
            case Checks rem ?CHECKS_PER_SECOND =:= 0 andalso not pyusdt_vm_trace_set:is_intact(Armed) of
                true -> "switched off: another tool has cleared what was traced. Start the tracer again to go on";
                false -> time_limit(State)
            end
    end.

time_limit(#state{wanted = []}) ->
    none;
time_limit(#state{options = #{time := Time}, since = Since}) ->
    case is_integer(Time) andalso erlang:monotonic_time(millisecond) - Since >= Time of
        true -> format_text("switched off: it has gone on for ~b ms, which the option time allows. Start the tracer again to go on", [Time]);
        false -> none
    end.

report(Refusals, State) ->
    report(Refusals, [], State).

report(Refusals, Whole, #state{refusals = Before} = State) ->
    State#state{refusals = pyusdt_vm_refusals:report(Refusals, Whole, Before)}.

format_text(Format, Arguments) ->
    lists:flatten(io_lib:format(Format, Arguments)).
