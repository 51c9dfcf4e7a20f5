%% @doc A stream handler of cowboy's, the first of them: `stream_handlers => [pyusdt_cowboy_h, cowboy_stream_h]'.
%%
%% In:  requests and the commands that answer them, as cowboy_stream(3) has them.
%% Out: http:::request-start and request-done, of each request once. The route is the path of the listener's dispatch
%% rules that matches, written as in them: "/item/:number"; it is looked for once more while somebody traces.
%% Always: commands go on as they are; upgrades to a websocket are no requests.
-module(pyusdt_cowboy_h).

-export([init/3, data/4, info/3, terminate/3, early_error/5]).
-export([route/2]).

-import(pyusdt_instrument, [apply_to/3, harmless/2]).

-record(state, {next :: term(), is_traced :: boolean(), status = -1 :: term(), bytes = 0 :: non_neg_integer()}).

-spec init(term(), map(), map()) -> {[term()], #state{}}.
init(Stream, Request, Options) ->
    IsTraced = harmless(cowboy_start, fun() -> is_there() andalso starts(Stream, Request, Options) end) =:= true,
    {Commands, Next} = apply_to(cowboy_stream, init, [Stream, Request, Options]),
    answered(Commands, Next, #state{next = Next, is_traced = IsTraced}).

-spec data(term(), fin | nofin, binary(), #state{}) -> {[term()], #state{}}.
data(Stream, IsFin, Data, #state{next = Next} = State) ->
    {Commands, After} = apply_to(cowboy_stream, data, [Stream, IsFin, Data, Next]),
    answered(Commands, After, State).

-spec info(term(), term(), #state{}) -> {[term()], #state{}}.
info(Stream, Info, #state{next = Next} = State) ->
    {Commands, After} = apply_to(cowboy_stream, info, [Stream, Info, Next]),
    answered(Commands, After, State).

-spec terminate(term(), term(), #state{}) -> term().
terminate(Stream, Reason, #state{next = Next, is_traced = IsTraced, status = Status, bytes = Bytes}) ->
    Result = apply_to(cowboy_stream, terminate, [Stream, Reason, Next]),
    _ = IsTraced andalso harmless(cowboy_done, fun() -> pyusdt_http_requests:done({self(), Stream}, Status, Bytes) end),
    Result.

-spec early_error(term(), term(), map(), term(), map()) -> term().
early_error(Stream, Reason, Request, Response, Options) ->
    apply_to(cowboy_stream, early_error, [Stream, Reason, Request, Response, Options]).

%% ---- what is told ----

%% The probes, made with the first request where nobody has enabled a part.
is_there() ->
    pyusdt_framework_probes:is_made() orelse pyusdt_instrument:enable(#{parts => []}) =:= ok.

starts(Stream, #{method := Method, path := Path, headers := Headers} = Request, Options) ->
    pyusdt_http_requests:is_wanted() andalso not is_websocket(Headers) andalso
        pyusdt_http_requests:start({self(), Stream}, Method, found(Request, Options), Path,
                              pyusdt_http_requests:traceparent(maps:get(<<"traceparent">>, Headers, <<>>))).

is_websocket(#{<<"upgrade">> := Upgrade}) -> string:lowercase(Upgrade) =:= <<"websocket">>;
is_websocket(_) -> false.

answered(Commands, Next, #state{is_traced = false} = State) ->
    {Commands, State#state{next = Next}};
answered(Commands, Next, State) ->
    case harmless(cowboy_answer, fun() -> lists:foldl(fun answer/2, State, Commands) end) of
        failed -> {Commands, State#state{next = Next}};
        Told -> {Commands, Told#state{next = Next}}
    end.

answer({response, Status, _, Body}, State) -> State#state{status = Status, bytes = size_of(Body)};
answer({error_response, Status, _, Body}, #state{status = -1} = State) -> State#state{status = Status, bytes = size_of(Body)};
answer({headers, Status, _}, State) -> State#state{status = Status};
answer({data, _, Data}, #state{bytes = Bytes} = State) -> State#state{bytes = Bytes + size_of(Data)};
answer(_, State) -> State.

size_of({sendfile, _, Length, _}) -> Length;
size_of(Data) -> iolist_size(Data).

%% ---- the route ----

found(Request, Options) ->
    case harmless(cowboy_route, fun() -> route(Request, Options) end) of
        failed -> <<>>;
        Route -> Route
    end.

%% @private Cowboy's own router, over rules whose handlers are their paths; a last one takes what matches none, so that it
%% answers nobody.
-spec route(map(), map()) -> binary().
route(#{host := Host, path := <<"/", _/binary>> = Path}, #{env := #{dispatch := Dispatch}}) ->
    Rules = [{Of, Fields, [{Each, Constraints, Each, []} || {Each, Constraints, _, _} <- Paths] ++ nowhere()}
             || {Of, Fields, Paths} <- rules(Dispatch)],
    Place = #{dispatch => Rules ++ [{'_', [], nowhere()}]},
    {ok, _, #{handler := Found}} = apply_to(cowboy_router, execute, [#{host => Host, path => Path}, Place]),
    written(Found);
route(_, _) ->
    <<>>.

rules({persistent_term, Key}) -> persistent_term:get(Key);
rules(Dispatch) -> Dispatch.

nowhere() -> [{'_', [], <<>>, []}].

written(Segments) when is_list(Segments) -> iolist_to_binary([[$/, segment(Each)] || Each <- Segments]);
written(<<>>) -> <<>>;
written(Path) -> segment(Path).

segment(Text) when is_binary(Text) -> Text;
segment('_') -> <<"_">>;
segment('...') -> <<"[...]">>;
segment(Name) -> <<$:, (atom_to_binary(Name))/binary>>.
