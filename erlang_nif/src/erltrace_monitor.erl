%% @doc A script whose aggregations are metrics of this node, and whose alerts are its alarms.
%%
%% It takes a script and the options of erltrace:start_link/2 (except `to'). The results are a
%% collector for prometheus.erl (`prometheus_registry:register_collector(erltrace_monitor)'), events
%% of telemetry, `[erltrace, metric]' and `[erltrace, alert]', and alarms of alarm_handler. The node
%% needs none of these libraries.
%%
%% A request for metrics gets the latest values without waiting. Alarms that were set are cleared
%% when this process ends, since no other process would clear them.
-module(erltrace_monitor).

-behaviour(gen_server).

-export([start_link/2]).
-export([collect_mf/2, deregister_cleanup/1]).
-export([init/1, handle_call/3, handle_cast/2, handle_info/2, terminate/2]).

-record(state, {server :: pid(), alarms = [] :: [alarm()]}).

-type alarm() :: {erltrace, Clause :: binary(), Labels :: #{binary() => binary()}}.

%% @doc One in a node. `metrics' is [] by default.
-spec start_link(Script :: unicode:chardata() | iodata(), erltrace:options()) -> {ok, pid()} | {error, term()}.
start_link(Script, Options) ->
    gen_server:start_link({local, ?MODULE}, ?MODULE, {Script, Options}, []).

%% ---- prometheus_collector ----

-spec collect_mf(term(), fun((term()) -> term())) -> ok.
collect_mf(_Registry, Callback) ->
    lists:foreach(fun(Family) -> Callback(make_family(prometheus_model_helpers, Family)) end, read_families()).

-spec deregister_cleanup(term()) -> ok.
deregister_cleanup(_Registry) ->
    ok.

%% None while nothing is traced.
read_families() ->
    try ets:lookup_element(?MODULE, families, 2)
    catch error:badarg -> []
    end.

make_family(Helpers, {Name, Kind, Help, Series}) ->
    Helpers:create_mf(Name, Help, Kind, [make_metric(Helpers, Kind, Labels, Figure) || {Labels, Figure} <- Series]).

make_metric(Helpers, counter, Labels, Number) -> Helpers:counter_metric(Labels, Number);
make_metric(Helpers, gauge, Labels, Number) -> Helpers:gauge_metric(Labels, Number);
make_metric(Helpers, histogram, Labels, {_, Buckets, Count, Sum}) -> Helpers:histogram_metric(Labels, Buckets, Count, Sum);
make_metric(Helpers, summary, Labels, {_, Quantiles, Count, Sum}) -> Helpers:summary_metric(Labels, Count, Sum, Quantiles).

%% ---- gen_server ----

-spec init({term(), term()}) -> {ok, #state{}} | {stop, term()}.
init({Script, Options}) ->
    process_flag(trap_exit, true),
    ?MODULE = ets:new(?MODULE, [named_table, {read_concurrency, true}]),
    true = ets:insert(?MODULE, {families, []}),
    case erltrace:start_link(Script, own_options(Options)) of
        {ok, Server} -> {ok, #state{server = Server}};
        {error, Reason} -> {stop, Reason}
    end.

own_options(Options) when is_map(Options) -> maps:merge(#{metrics => []}, Options#{to => self()});
own_options(NoMap) -> NoMap.

-spec handle_call(term(), gen_server:from(), #state{}) -> {reply, {error, unknown}, #state{}}.
handle_call(_Request, _From, State) ->
    {reply, {error, unknown}, State}.

-spec handle_cast(term(), #state{}) -> {noreply, #state{}}.
handle_cast(_Request, State) ->
    {noreply, State}.

-spec handle_info(term(), #state{}) -> {noreply, #state{}} | {stop, term(), #state{}}.
handle_info({erltrace, Server, {over, _, _}}, #state{server = Server} = State) ->
    {stop, normal, State};
handle_info({erltrace, Server, {What, Items}}, #state{server = Server} = State) ->
    Next = handle_item(What, Items, State),
    erltrace:credit(Server, 1),
    {noreply, Next};
handle_info({'EXIT', Server, Reason}, #state{server = Server} = State) ->
    {stop, Reason, State};
handle_info(_Other, State) ->
    {noreply, State}.

handle_item(metrics, Families, State) ->
    true = ets:insert(?MODULE, {families, Families}),
    _ = [execute_event(metric, make_measurements(Figure), #{name => Name, kind => Kind, labels => maps:from_list(Labels)})
         || is_exported(telemetry, execute, 3), {Name, Kind, _Help, Series} <- Families, {Labels, Figure} <- Series],
    State;
handle_item(alert, Note, State) ->
    _ = is_exported(telemetry, execute, 3) andalso execute_event(alert, #{count => maps:get(<<"count">>, Note)}, Note),
    update_alarm(Note, State);
handle_item(records, Items, State) ->
    [pyusdt_server:log_warning("erltrace_monitor: ~0tp", [Item]) || Item <- Items, is_warning(Item)],
    State;
handle_item(aggregations, _Rows, State) ->
    State.

is_warning(Item) ->
    lists:member(element(1, Item), [error, drop, lost]).

-spec terminate(term(), #state{}) -> ok.
terminate(_Reason, #state{alarms = Alarms}) ->
    lists:foreach(fun(Alarm) -> notify_alarm_handler(clear_alarm, Alarm) end, Alarms).

%% ---- alarms ----

%% An alert that lasts is reported again: its alarm is set once.
update_alarm(#{<<"state">> := State, <<"alert">> := Clause, <<"labels">> := Labels} = Note, #state{alarms = Alarms} = All) ->
    Alarm = {erltrace, Clause, Labels},
    case {State, lists:member(Alarm, Alarms)} of
        {<<"firing">>, false} -> notify_alarm_handler(set_alarm, {Alarm, Note}), All#state{alarms = [Alarm | Alarms]};
        {<<"resolved">>, true} -> notify_alarm_handler(clear_alarm, Alarm), All#state{alarms = lists:delete(Alarm, Alarms)};
        _ -> All
    end.

notify_alarm_handler(Function, Argument) ->
    _ = whereis(alarm_handler) =/= undefined andalso apply_to(alarm_handler, Function, [Argument]),
    ok.

%% ---- telemetry ----

make_measurements({_, Parts, Count, Sum}) -> #{parts => Parts, count => Count, sum => Sum};
make_measurements(Number) -> #{value => Number}.

execute_event(Name, Measurements, Metadata) ->
    apply_to(telemetry, execute, [[erltrace, Name], Measurements, Metadata]).

is_exported(Module, Function, Arity) ->
    erlang:function_exported(Module, Function, Arity).

%% The module is one that need not be there.
apply_to(Module, Function, Arguments) ->
    apply(Module, Function, Arguments).
