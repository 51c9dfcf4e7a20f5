%% @doc Fires http:::request-start and request-done for the requests that cowboy's stream handlers
%% and Phoenix report.
%%
%% The key of a request is the process of its connection and a word. A request fires once, even if
%% several libraries report it. A request that began while no tracer was there fires nothing at its
%% end.
-module(pyusdt_http_requests).

-export([is_wanted/0, start/5, is_known/1, set_route/2, done/3, forget/1, forget_ended/0]).
-export([make_table/0, read_status/1, read_traceparent/1]).

-export_type([key/0]).

-type key() :: {pid(), term()}.

-define(TABLE, ?MODULE).
-define(ROUTE, 4).

%% @doc The table of the requests that are being answered; it belongs to the caller.
-spec make_table() -> atom().
make_table() ->
    ets:new(?TABLE, [named_table, public, {write_concurrency, true}]).

-spec is_wanted() -> boolean().
is_wanted() ->
    pyusdt_framework_probes:is_wanted(http, 'request-start') orelse pyusdt_framework_probes:is_wanted(http, 'request-done').

%% @doc A request has begun. False: it is not traced, or it is known already.
-spec start(key(), iodata(), iodata(), iodata(), binary()) -> boolean().
start(Key, Method, Route, Path, Traceparent) ->
    case is_wanted() andalso ets:insert_new(?TABLE, {Key, Method, Path, Route, Traceparent, erlang:monotonic_time()}) of
        true ->
            _ = pyusdt_framework_probes:fire(http, 'request-start', [Method, Route, Path, Traceparent]),
            true;
        false ->
            false
    end.

-spec is_known(key()) -> boolean().
is_known(Key) ->
    ets:member(?TABLE, Key).

%% @doc The framework has chosen. False: no such request.
-spec set_route(key(), iodata()) -> boolean().
set_route(Key, Route) ->
    ets:update_element(?TABLE, Key, {?ROUTE, Route}).

-spec done(key(), term(), non_neg_integer()) -> boolean().
done(Key, Status, Bytes) ->
    case ets:take(?TABLE, Key) of
        [{_, Method, Path, Route, Traceparent, Began}] ->
            Took = erlang:convert_time_unit(erlang:monotonic_time() - Began, native, nanosecond),
            _ = pyusdt_framework_probes:fire(http, 'request-done', [Route, read_status(Status), Bytes, Took, Method, Path, Traceparent]),
            true;
        [] ->
            false
    end.

-spec forget(key()) -> true.
forget(Key) ->
    ets:delete(?TABLE, Key).

%% @doc Forget requests whose process has ended without a report. Their number.
-spec forget_ended() -> non_neg_integer().
forget_ended() ->
    Keys = ets:select(?TABLE, [{{'$1', '_', '_', '_', '_', '_'}, [], ['$1']}]),
    length([forget(Key) || {Pid, _} = Key <- Keys, not is_process_alive(Pid)]).

%% @doc Cowboy's status may be text; -1 if no answer was sent.
-spec read_status(term()) -> integer().
read_status(Status) when is_integer(Status) -> Status;
read_status(<<Digits:3/binary, _/binary>>) -> binary_to_integer(Digits);
read_status(_) -> -1.

%% @doc W3C's header, as far as every version of it has it; else nothing, because the client has
%% written it.
-spec read_traceparent(term()) -> binary().
read_traceparent(<<Version:2/binary, $-, Trace:32/binary, $-, Span:16/binary, $-, Flags:2/binary, _/binary>> = Given) ->
    case << <<C>> || <<C>> <= <<Version/binary, Trace/binary, Span/binary, Flags/binary>>, not is_hex(C) >> of
        <<>> -> binary:part(Given, 0, 55);
        _ -> <<>>
    end;
read_traceparent(_) ->
    <<>>.

is_hex(C) -> C >= $0 andalso C =< $9 orelse C >= $a andalso C =< $f.
