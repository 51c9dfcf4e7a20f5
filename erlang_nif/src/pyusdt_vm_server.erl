%% @doc The controlling process of the emulator's own probes.
%%
%% In:  `changed' from the core's watcher when tracers want something else, and a look five times a second while they want
%% anything; what the emulator tells this process.
%% Out: flags and patterns for them ({@link pyusdt_vm_trace_set}), and events of what it was told itself ({@link pyusdt_vm_system_monitor}).
%% Always: it is the only process that sets and takes away. It stops what goes over the limits of rate and time, and what
%% another tool has cleared, until no tracer wants anything any more; and says so, in the log and by `info/0'.
-module(pyusdt_vm_server).

-behaviour(gen_server).

-export([start/1, start_link/1, stop/0, info/0]).
-export([init/1, handle_call/3, handle_cast/2, handle_info/2, terminate/2]).

-define(LOOK_MS, 200).
-define(LOOKS_A_SECOND, 5).
-define(DEFAULTS, #{functions => [], rate => 200000, time => 3600000, unsafe => false, long => 100, large => 10000000}).

-record(state, {options :: pyusdt_vm:options(),
                given :: [atom()],
                armed :: pyusdt_vm_trace_set:armed(),
                wanted = [] :: [atom()],
                since = 0 :: integer(),             % when it was armed, in milliseconds
                looks = 0 :: non_neg_integer(),
                timer = none :: none | reference(), % of the next look
                is_told = false :: boolean(),       % of changes, by the watcher
                changes = 0 :: non_neg_integer(),
                code = 0 :: non_neg_integer(),      % a number for the code that is loaded
                planned = none :: term(),           % what the plan was made for
                told :: pyusdt_vm_system_monitor:told(),      % what this process is told of
                refused = none :: none | string(),  % why it stays off until nobody wants anything
                messages = [] :: [string()]}).

-spec start(term()) -> {ok, pid()} | {error, term()}.
start(Options) ->
    gen_server:start({local, ?MODULE}, ?MODULE, Options, []).

-spec start_link(term()) -> {ok, pid()} | {error, term()}.
start_link(Options) ->
    gen_server:start_link({local, ?MODULE}, ?MODULE, Options, []).

-spec stop() -> ok.
stop() ->
    try gen_server:stop(?MODULE)
    catch exit:noproc -> ok
    end.

-spec info() -> pyusdt_vm:info() | {error, disabled}.
info() ->
    try gen_server:call(?MODULE, info, infinity)
    catch exit:{noproc, _} -> {error, disabled}
    end.

%% ---- gen_server ----

-spec init(term()) -> {ok, #state{}} | {stop, term()}.
init(Given) ->
    case options(Given) of
        {ok, Options} -> begin_with(Options, pyusdt_vm_trace_plan:given(Options));
        {error, Reason} -> {stop, Reason}
    end.

begin_with(Options, Probes) ->
    process_flag(trap_exit, true),
    case pyusdt_nif:vm_define(Probes) of
        ok ->
            State = #state{options = Options, given = Probes, armed = pyusdt_vm_trace_set:nothing(), told = pyusdt_vm_system_monitor:nothing()},
            ok = pyusdt_nif:vm_control(false, 0),
            {ok, look_again(said(before_25_3(Probes), State#state{is_told = pyusdt_nif:vm_watch(true)}))};
        {error, Reason} ->
            {stop, Reason}
    end.

-spec handle_call(term(), gen_server:from(), #state{}) -> {reply, term(), #state{}}.
handle_call(info, _From, State) ->
    #state{given = Given, wanted = Wanted, refused = Refused, messages = Messages} = State,
    Info = #{given => Given, wanted => Wanted, armed => Wanted =/= [] andalso Refused =:= none, refused => Refused,
             messages => lists:reverse(Messages)},
    {reply, Info, State}.

-spec handle_cast(term(), #state{}) -> {noreply, #state{}}.
handle_cast(_, State) ->
    {noreply, State}.

-spec handle_info(term(), #state{}) -> {noreply, #state{}}.
handle_info(look, #state{looks = Looks} = State) ->
    {noreply, look_again(look(State#state{looks = Looks + 1, timer = none}))};
handle_info(changed, #state{changes = Changes} = State) ->
    {noreply, look_again(look(State#state{changes = Changes + 1}))};
handle_info(Message, State) ->
    ok = pyusdt_vm_system_monitor:message(Message),
    {noreply, State}.

-spec terminate(term(), #state{}) -> ok.
terminate(_Reason, State) ->
    _ = off(State),
    _ = pyusdt_nif:vm_watch(false),
    ok.

%% ---- options ----

options(Given) when is_map(Given) ->
    Options = maps:merge(?DEFAULTS, Given),
    case [Name || {Name, Value} <- maps:to_list(Options), not is_option(Name, Value)] of
        [] -> {ok, Options};
        Wrong -> {error, {badarg, Wrong}}
    end;
options(Given) ->
    {error, {badarg, Given}}.

is_option(functions, Modules) -> is_list(Modules) andalso lists:all(fun is_atom/1, Modules);
is_option(rate, Rate) -> is_limit(Rate);
is_option(time, Time) -> is_limit(Time);
is_option(long, Milliseconds) -> is_number_to_be(Milliseconds);
is_option(large, Words) -> is_number_to_be(Words);
is_option(unsafe, Unsafe) -> is_boolean(Unsafe);
is_option(_, _) -> false.

is_limit(Limit) -> Limit =:= infinity orelse is_number_to_be(Limit).

is_number_to_be(Number) -> is_integer(Number) andalso Number > 0 andalso Number < 1 bsl 32.

before_25_3(Probes) ->
    ["this emulator is older than OTP 25.3: switching off what processes do can crash it, so only the probes of functions, "
     "calls of OTP's own functions, exit signals, nodes and busy ports are offered; pyusdt_vm:enable(#{unsafe => true}) in the node, "
     "which no tracer can do, offers all"
     || not lists:member('process-spawn', Probes)].

%% ---- looking ----

%% While nobody wants anything, the watcher wakes this process.
look_again(#state{is_told = true, wanted = []} = State) ->
    State;
look_again(#state{timer = none} = State) ->
    State#state{timer = erlang:send_after(?LOOK_MS, self(), look)};
look_again(State) ->
    State.

look(State) ->
    case pyusdt_nif:vm_wanted() of
        [] -> (off(State))#state{wanted = [], refused = none, planned = none};
        _ -> tend(State)
    end.

%% Tracers that are gone are noticed by vm_tend/0, so what is wanted is asked behind it.
tend(#state{refused = none} = State) ->
    Tokens = pyusdt_nif:vm_tend(),
    #state{told = Told} = On = on(pyusdt_nif:vm_wanted(), Tokens, with_code(State)),
    checked(On#state{told = pyusdt_vm_system_monitor:look(Told)});
tend(State) ->
    _ = pyusdt_nif:vm_tend(),
    State#state{wanted = pyusdt_nif:vm_wanted()}.

%% Code that was loaded since has no patterns yet.
with_code(#state{looks = Looks} = State) when Looks rem ?LOOKS_A_SECOND =:= 0 ->
    State#state{code = pyusdt_vm_trace_plan:code()};
with_code(State) ->
    State.

on(Wanted, Tokens, #state{changes = Changes, code = Code, planned = {Wanted, Tokens, Changes, Code}} = State) ->
    State;
on(Wanted, Tokens, #state{options = Options, armed = Before, changes = Changes, code = Code} = State) ->
    Plan = pyusdt_vm_trace_plan:plan(Wanted, Tokens, Options),
    {Armed, Texts} = pyusdt_vm_trace_set:arm(Plan, number(maps:get(rate, Options)), Before),
    Told = said((Texts ++ without_modules(Wanted, Options)) -- State#state.messages, State),
    told(Plan, Told#state{armed = Armed, wanted = Wanted, since = since(State), planned = {Wanted, Tokens, Changes, Code}}).

told(Plan, #state{told = Before} = State) ->
    {Told, Texts} = pyusdt_vm_system_monitor:change(Plan, Before),
    said(Texts, State#state{told = Told}).

since(#state{wanted = []}) -> erlang:monotonic_time(millisecond);
since(#state{since = Since}) -> Since.

number(infinity) -> 0;
number(Rate) -> Rate.

off(#state{armed = Armed} = State) ->
    told(pyusdt_vm_trace_plan:nothing(), State#state{armed = pyusdt_vm_trace_set:disarm(Armed)}).

without_modules(Wanted, #{functions := []}) ->
    [text("~s of no module: name one in the clause, or modules in the option functions", [Probe])
     || Probe <- pyusdt_vm_trace_plan:open(Wanted)];
without_modules(_, _) ->
    [].

%% ---- limits ----

checked(State) ->
    case limit(State) of
        none -> State;
        Reason -> said([Reason], (off(State))#state{refused = Reason})
    end.

limit(#state{armed = Armed, looks = Looks} = State) ->
    case pyusdt_nif:vm_over() of
        {Events, Microseconds} ->
            text("switched off: ~b events in ~b us on one scheduler are more than the option rate allows", [Events, Microseconds]);
        false ->
            case Looks rem ?LOOKS_A_SECOND =:= 0 andalso not pyusdt_vm_trace_set:is_ours(Armed) of
                true -> "switched off: another tool has cleared what was traced";
                false -> time_limit(State)
            end
    end.

time_limit(#state{wanted = []}) ->
    none;
time_limit(#state{options = #{time := Time}, since = Since}) ->
    case is_integer(Time) andalso erlang:monotonic_time(millisecond) - Since >= Time of
        true -> text("switched off: it has gone on for ~b ms, which the option time allows", [Time]);
        false -> none
    end.

said(Texts, #state{messages = Messages} = State) ->
    [logger:warning("pyusdt: the emulator's probes: ~ts", [Text]) || Text <- Texts],
    State#state{messages = lists:sublist(lists:reverse(Texts) ++ Messages, 100)}.

text(Format, Arguments) ->
    lists:flatten(io_lib:format(Format, Arguments)).
