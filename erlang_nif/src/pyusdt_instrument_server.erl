%% @doc The process that pyusdt_instrument's parts belong to.
%%
%% In:  the options.
%% Out: the handlers of telemetry and logger; the table of requests; the counts of what went wrong.
%% Always: with its end the handlers are gone. Once in ten seconds it forgets requests whose process has ended.
-module(pyusdt_instrument_server).

-behaviour(gen_server).

-export([start/1, start_link/1, stop/0, more/1, info/0, failed/3]).
-export([init/1, handle_continue/2, handle_call/3, handle_cast/2, handle_info/2, terminate/2]).

-define(FAULTS, ?MODULE).
-define(LOOK_MS, 10000).

-record(state, {parts = [] :: [pyusdt_instrument:part()], watched = none :: {session, term()} | none, let_go = 0 :: non_neg_integer()}).

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

-spec more(term()) -> ok | {error, term()}.
more(Options) ->
    gen_server:call(?MODULE, {more, Options}, infinity).

-spec info() -> pyusdt_instrument:info() | {error, disabled}.
info() ->
    try gen_server:call(?MODULE, info, infinity)
    catch exit:{noproc, _} -> {error, disabled}
    end.

%% @doc A hook failed: what it was given may be anything, so no more is kept of a reason than its first atom.
-spec failed(atom(), atom(), term()) -> ok.
failed(Where, Class, Reason) ->
    try
        _ = ets:update_counter(?FAULTS, Where, {2, 1}, {Where, 0, none}),
        _ = ets:update_element(?FAULTS, Where, {3, {Class, word(Reason)}}),
        ok
    catch error:badarg -> ok % the server has ended
    end.

word(Reason) when is_atom(Reason) -> Reason;
word(Reason) when is_tuple(Reason), size(Reason) > 0 -> word(element(1, Reason));
word(_) -> other.

%% ---- gen_server ----

-spec init(term()) -> {ok, #state{}, {continue, map()}} | {stop, term()}.
init(Given) ->
    case options(Given) of
        {ok, Options} ->
            process_flag(trap_exit, true),
            ?FAULTS = ets:new(?FAULTS, [named_table, public, {write_concurrency, true}]),
            _ = pyusdt_http_requests:table(),
            pyusdt_framework_probes:make(),
            _ = look_again(),
            {ok, #state{}, {continue, Options}};
        Error ->
            {stop, Error}
    end.

%% Behind the start of the application, since another one may be started here.
-spec handle_continue(map(), #state{}) -> {noreply, #state{}}.
handle_continue(Options, State) ->
    {noreply, with(Options, State)}.

options(Given) when is_map(Given) ->
    All = maps:merge(#{parts => pyusdt_instrument:parts(), repos => [], events => []}, Given),
    Wrong = [Part || Part <- maps:get(parts, All), not lists:member(Part, pyusdt_instrument:parts())],
    case {Wrong, maps:keys(All)} of
        {[], [events, parts, repos]} -> {ok, All};
        {[], Keys} -> {badarg, Keys -- [events, parts, repos]};
        _ -> {badarg, Wrong}
    end;
options(Given) ->
    {badarg, Given}.

-spec handle_call(term(), gen_server:from(), #state{}) -> {reply, term(), #state{}}.
handle_call({more, Given}, _From, State) ->
    case options(Given) of
        {ok, Options} -> {reply, ok, with(Options, State)};
        Error -> {reply, {error, Error}, State}
    end;
handle_call(info, _From, #state{parts = Parts, let_go = Let_go} = State) ->
    Events = lists:usort([Event || {_, _, Event} <- pyusdt_telemetry:attached()]),
    {reply, #{parts => Parts, events => Events, let_go => Let_go, trouble => lists:sort(ets:tab2list(?FAULTS))}, State}.

-spec handle_cast(term(), #state{}) -> {noreply, #state{}}.
handle_cast(_, State) ->
    {noreply, State}.

-spec handle_info(term(), #state{}) -> {noreply, #state{}}.
handle_info(look, #state{let_go = Let_go} = State) ->
    _ = look_again(),
    {noreply, State#state{let_go = Let_go + pyusdt_http_requests:forget_the_dead()}};
handle_info(_, State) ->
    {noreply, State}.

-spec terminate(term(), #state{}) -> ok.
terminate(_Reason, #state{watched = Watched}) ->
    pyusdt_logger_h:remove(),
    pyusdt_telemetry:unwatch(Watched),
    pyusdt_telemetry:detach().

look_again() ->
    erlang:send_after(?LOOK_MS, self(), look).

%% ---- parts ----

with(#{parts := Wanted, repos := Repos, events := Events}, #state{parts = Before, watched = Watched} = State) ->
    Parts = lists:usort(Wanted ++ Before),
    lists:foreach(fun(Part) -> on(Part) end, Parts),
    _ = lists:member(ecto, Parts) andalso pyusdt_telemetry:attach(query, [Prefix ++ [query] || Prefix <- Repos]),
    State#state{parts = Parts, watched = all_events(lists:member(telemetry, Parts), Events, Watched)}.

on(logger) -> pyusdt_logger_h:add();
on(telemetry) -> ok;
on(Part) -> pyusdt_telemetry:attach(Part, pyusdt_telemetry:mapped(Part)).

%% By one trace session, or, where there is none, by the lists.
all_events(false, _Events, Watched) ->
    Watched;
all_events(true, Events, none) ->
    case pyusdt_telemetry:watch() of
        none ->
            Shipped = lists:append([pyusdt_telemetry:events(Part) || Part <- pyusdt_instrument:parts()]),
            _ = pyusdt_telemetry:attach(telemetry, Events ++ Shipped),
            none;
        Watched ->
            Watched
    end;
all_events(true, _Events, Watched) ->
    Watched.
