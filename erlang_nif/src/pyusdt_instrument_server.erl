%% @doc The process that owns the parts of pyusdt_instrument: the handlers of telemetry and logger,
%% the table of requests, the counts of failures.
%%
%% The handlers are removed when it ends. Every ten seconds it forgets requests whose process has
%% ended.
-module(pyusdt_instrument_server).

-behaviour(gen_server).

-export([start/1, start_link/1, stop/0, enable_more/1, info/0, count_failure/3]).
-export([init/1, handle_continue/2, handle_call/3, handle_cast/2, handle_info/2, terminate/2]).

-define(FAULTS, ?MODULE).
-define(CHECK_MS, 10000).

-record(state, {parts = [] :: [pyusdt_instrument:part()], watched = none :: {session, term()} | none, let_go = 0 :: non_neg_integer()}).

-spec start(term()) -> {ok, pid()} | {error, term()}.
start(Options) ->
    pyusdt_server:start(?MODULE, Options).

-spec start_link(term()) -> {ok, pid()} | {error, term()}.
start_link(Options) ->
    pyusdt_server:start_link(?MODULE, Options).

-spec stop() -> ok.
stop() ->
    pyusdt_server:stop(?MODULE).

-spec enable_more(term()) -> ok | {error, term()}.
enable_more(Options) ->
    gen_server:call(?MODULE, {more, Options}, infinity).

-spec info() -> pyusdt_instrument:info() | {error, disabled}.
info() ->
    pyusdt_server:info(?MODULE).

%% @doc A hook failed. Its arguments may be anything, so only the first atom of the reason is
%% stored.
-spec count_failure(atom(), atom(), term()) -> ok.
count_failure(Where, Class, Reason) ->
    try
        _ = ets:update_counter(?FAULTS, Where, {2, 1}, {Where, 0, none}),
        _ = ets:update_element(?FAULTS, Where, {3, {Class, first_atom(Reason)}}),
        ok
    catch error:badarg -> ok % the server has ended
    end.

first_atom(Reason) when is_atom(Reason) -> Reason;
first_atom(Reason) when is_tuple(Reason), size(Reason) > 0 -> first_atom(element(1, Reason));
first_atom(_) -> other.

%% ---- gen_server ----

-spec init(term()) -> {ok, #state{}, {continue, map()}} | {stop, term()}.
init(Given) ->
    case check_options(Given) of
        {ok, Options} ->
            process_flag(trap_exit, true),
            ?FAULTS = ets:new(?FAULTS, [named_table, public, {write_concurrency, true}]),
            _ = pyusdt_http_requests:make_table(),
            pyusdt_framework_probes:make(),
            _ = schedule_check(),
            {ok, #state{}, {continue, Options}};
        Error ->
            {stop, Error}
    end.

%% Behind the start of the application, since another one may be started here.
-spec handle_continue(map(), #state{}) -> {noreply, #state{}}.
handle_continue(Options, State) ->
    {noreply, enable_parts(Options, State)}.

check_options(Given) when is_map(Given) ->
    All = maps:merge(#{parts => pyusdt_instrument:parts(), repos => [], events => [], secrets => false}, Given),
    Wrong = [Part || Part <- maps:get(parts, All), not lists:member(Part, pyusdt_instrument:parts())],
    case {Wrong, maps:keys(All)} of
        {[], [events, parts, repos, secrets]} -> {ok, All};
        {[], Keys} -> {badarg, Keys -- [events, parts, repos, secrets]};
        _ -> {badarg, Wrong}
    end;
check_options(Given) ->
    {badarg, Given}.

-spec handle_call(term(), gen_server:from(), #state{}) -> {reply, term(), #state{}}.
handle_call({more, Given}, _From, State) ->
    case check_options(Given) of
        {ok, Options} -> {reply, ok, enable_parts(Options, State)};
        Error -> {reply, {error, Error}, State}
    end;
handle_call(info, _From, #state{parts = Parts, let_go = Let_go} = State) ->
    Events = lists:usort([Event || {_, _, Event} <- pyusdt_telemetry:list_handlers()]),
    {reply, #{parts => Parts, events => Events, let_go => Let_go, trouble => lists:sort(ets:tab2list(?FAULTS))}, State}.

-spec handle_cast(term(), #state{}) -> {noreply, #state{}}.
handle_cast(_, State) ->
    {noreply, State}.

-spec handle_info(term(), #state{}) -> {noreply, #state{}}.
handle_info(check, #state{let_go = Let_go} = State) ->
    _ = schedule_check(),
    {noreply, State#state{let_go = Let_go + pyusdt_http_requests:forget_ended()}};
handle_info(_, State) ->
    {noreply, State}.

-spec terminate(term(), #state{}) -> ok.
terminate(_Reason, #state{watched = Watched}) ->
    pyusdt_logger_h:remove(),
    pyusdt_telemetry:unwatch_all(Watched),
    pyusdt_telemetry:detach().

schedule_check() ->
    erlang:send_after(?CHECK_MS, self(), check).

%% ---- parts ----

enable_parts(#{parts := Wanted, repos := Repos} = Options, #state{parts = Before, watched = Watched} = State) ->
    Parts = lists:usort(Wanted ++ Before),
    lists:foreach(fun(Part) -> enable_part(Part) end, Parts),
    _ = lists:member(ecto, Parts) andalso pyusdt_telemetry:attach(query, [Prefix ++ [query] || Prefix <- Repos]),
    State#state{parts = Parts, watched = watch_all_events(lists:member(telemetry, Parts), Options, Watched)}.

enable_part(logger) -> pyusdt_logger_h:add();
enable_part(telemetry) -> ok;
enable_part(Part) -> pyusdt_telemetry:attach(Part, pyusdt_telemetry:mapped_events(Part)).

%% By one trace session or, if there are none, by the lists.
watch_all_events(false, _Options, Watched) ->
    Watched;
watch_all_events(true, #{events := Events, secrets := Secrets}, none) ->
    case pyusdt_telemetry:watch_all(Secrets) of
        none ->
            Shipped = lists:append([pyusdt_telemetry:documented_events(Part) || Part <- pyusdt_instrument:parts()]),
            _ = pyusdt_telemetry:attach(telemetry, Events ++ Shipped),
            none;
        Watched ->
            Watched
    end;
watch_all_events(true, _Options, Watched) ->
    Watched.
