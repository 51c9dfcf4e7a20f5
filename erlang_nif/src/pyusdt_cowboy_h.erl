%% @doc A stream handler for cowboy, to be the first one: `stream_handlers => [pyusdt_cowboy_h,
%% cowboy_stream_h]'.
%%
%% It fires http:::request-start and request-done for each request. The route is the matching path
%% of the listener's dispatch rules, as written there: "/item/:number". It is looked up once more
%% while a tracer wants it. Commands pass unchanged. An upgrade to a websocket is no request.
-module(pyusdt_cowboy_h).

-export([init/3, data/4, info/3, terminate/3, early_error/5]).
-export([route/2]).

-import(pyusdt_instrument, [apply_to/3, count_failures/2]).

-record(state, {next :: term(), is_traced :: boolean(), status = -1 :: term(), bytes = 0 :: non_neg_integer()}).

-spec init(term(), map(), map()) -> {[term()], #state{}}.
init(Stream, Request, Options) ->
    IsTraced = count_failures(cowboy_start, fun() -> has_probes() andalso start_request(Stream, Request, Options) end) =:= true,
    {Commands, Next} = apply_to(cowboy_stream, init, [Stream, Request, Options]),
    handle_commands(Commands, Next, #state{next = Next, is_traced = IsTraced}).

-spec data(term(), fin | nofin, binary(), #state{}) -> {[term()], #state{}}.
data(Stream, IsFin, Data, #state{next = Next} = State) ->
    {Commands, After} = apply_to(cowboy_stream, data, [Stream, IsFin, Data, Next]),
    handle_commands(Commands, After, State).

-spec info(term(), term(), #state{}) -> {[term()], #state{}}.
info(Stream, Info, #state{next = Next} = State) ->
    {Commands, After} = apply_to(cowboy_stream, info, [Stream, Info, Next]),
    handle_commands(Commands, After, State).

-spec terminate(term(), term(), #state{}) -> term().
terminate(Stream, Reason, #state{next = Next, is_traced = IsTraced, status = Status, bytes = Bytes}) ->
    Result = apply_to(cowboy_stream, terminate, [Stream, Reason, Next]),
    _ = IsTraced andalso count_failures(cowboy_done, fun() -> pyusdt_http_requests:done({self(), Stream}, Status, Bytes) end),
    Result.

-spec early_error(term(), term(), map(), term(), map()) -> term().
early_error(Stream, Reason, Request, Response, Options) ->
    apply_to(cowboy_stream, early_error, [Stream, Reason, Request, Response, Options]).

%% ---- events ----

%% The probes are made with the first request if no part was enabled.
has_probes() ->
    pyusdt_framework_probes:is_made() orelse pyusdt_instrument:enable(#{parts => []}) =:= ok.

start_request(Stream, #{method := Method, path := Path, headers := Headers} = Request, Options) ->
    pyusdt_http_requests:is_wanted() andalso not is_websocket(Headers) andalso
        pyusdt_http_requests:start({self(), Stream}, Method, find_route(Request, Options), Path,
                              pyusdt_http_requests:read_traceparent(maps:get(<<"traceparent">>, Headers, <<>>))).

is_websocket(#{<<"upgrade">> := Upgrade}) -> string:lowercase(Upgrade) =:= <<"websocket">>;
is_websocket(_) -> false.

handle_commands(Commands, Next, #state{is_traced = false} = State) ->
    {Commands, State#state{next = Next}};
handle_commands(Commands, Next, State) ->
    case count_failures(cowboy_answer, fun() -> lists:foldl(fun handle_command/2, State, Commands) end) of
        failed -> {Commands, State#state{next = Next}};
        Updated -> {Commands, Updated#state{next = Next}}
    end.

handle_command({response, Status, _, Body}, State) -> State#state{status = Status, bytes = size_of(Body)};
handle_command({error_response, Status, _, Body}, #state{status = -1} = State) -> State#state{status = Status, bytes = size_of(Body)};
handle_command({headers, Status, _}, State) -> State#state{status = Status};
handle_command({data, _, Data}, #state{bytes = Bytes} = State) -> State#state{bytes = Bytes + size_of(Data)};
handle_command(_, State) -> State.

size_of({sendfile, _, Length, _}) -> Length;
size_of(Data) -> iolist_size(Data).

%% ---- the route ----

find_route(Request, Options) ->
    case count_failures(cowboy_route, fun() -> route(Request, Options) end) of
        failed -> <<>>;
        Route -> Route
    end.

%% @private Cowboy's own router, with rules whose handlers are their paths. A last rule takes
%% requests that match none, so that the router never answers them.
-spec route(map(), map()) -> binary().
route(#{host := Host, path := <<"/", _/binary>> = Path}, #{env := #{dispatch := Dispatch}}) ->
    Rules = [{Of, Fields, [{Each, Constraints, Each, []} || {Each, Constraints, _, _} <- Paths] ++ no_route_rule()}
             || {Of, Fields, Paths} <- read_rules(Dispatch)],
    Place = #{dispatch => Rules ++ [{'_', [], no_route_rule()}]},
    {ok, _, #{handler := Found}} = apply_to(cowboy_router, execute, [#{host => Host, path => Path}, Place]),
    format_route(Found);
route(_, _) ->
    <<>>.

read_rules({persistent_term, Key}) -> persistent_term:get(Key);
read_rules(Dispatch) -> Dispatch.

no_route_rule() -> [{'_', [], <<>>, []}].

format_route(Segments) when is_list(Segments) -> iolist_to_binary([[$/, format_segment(Each)] || Each <- Segments]);
format_route(<<>>) -> <<>>;
format_route(Path) -> format_segment(Path).

format_segment(Text) when is_binary(Text) -> Text;
format_segment('_') -> <<"_">>;
format_segment('...') -> <<"[...]">>;
format_segment(Name) -> <<$:, (atom_to_binary(Name))/binary>>.
