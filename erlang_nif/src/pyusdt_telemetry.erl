%% @doc Events of the library telemetry as probes: Phoenix, Ecto, Broadway, Cowboy (cowboy_telemetry).
%%
%% In:  events, by telemetry's own handlers, in the processes that execute them.
%% Out: http, db, task; telemetry:::event for each event of the lists, and for all events on OTP 27 and later, by a trace
%% session on telemetry:execute/3.
%% Always: a handler raises nothing, so telemetry never takes it away. Times are nanoseconds.
-module(pyusdt_telemetry).

-export([attach/2, detach/0, attached/0, watch/0, unwatch/1]).
-export([handle/4, events/1, mapped/1]).

-import(pyusdt_instrument, [apply_to/3, harmless/2, shown/1]).

-define(TAG, '$pyusdt_tag_before'). % in a request's process: the tag before it
-define(MESSAGE, '$pyusdt_message').
-define(BATCH, '$pyusdt_batch').

%% ---- handlers ----

%% @doc What the libraries document. Of Ecto's queries each repository has its own name, which it tells when it starts.
-spec events(pyusdt_instrument:part()) -> [[atom()]].
events(phoenix) ->
    [[phoenix, endpoint, start], [phoenix, endpoint, stop], [phoenix, router_dispatch, start], [phoenix, router_dispatch, stop],
     [phoenix, router_dispatch, exception], [phoenix, error_rendered], [phoenix, socket_connected], [phoenix, channel_joined],
     [phoenix, channel_handled_in]];
events(cowboy) ->
    [[cowboy, request, start], [cowboy, request, stop], [cowboy, request, exception], [cowboy, request, early_error]];
events(ecto) ->
    [[ecto, repo, init]];
events(broadway) ->
    [[broadway, topology, init], [broadway, processor, start], [broadway, processor, stop], [broadway, processor, message, start],
     [broadway, processor, message, stop], [broadway, processor, message, exception], [broadway, batch_processor, start],
     [broadway, batch_processor, stop], [broadway, batcher, start], [broadway, batcher, stop]];
events(_) ->
    [].

%% @doc Those of them that have a probe of the table.
-spec mapped(pyusdt_instrument:part()) -> [[atom()]].
mapped(phoenix) -> [[phoenix, endpoint, start], [phoenix, endpoint, stop], [phoenix, router_dispatch, start]];
mapped(cowboy) -> [[cowboy, request, What] || What <- [start, stop, exception]];
mapped(ecto) -> [[ecto, repo, init]];
mapped(broadway) -> [[broadway, batch_processor, What] || What <- [start, stop]]
                        ++ [[broadway, processor, message, What] || What <- [start, stop, exception]].

%% @doc A handler for these events, as part of that: again, nothing more. What telemetry answers, or that it is not there.
-spec attach(pyusdt_instrument:part() | query, [[atom()]]) -> ok | {error, term()}.
attach(_Part, []) ->
    ok;
attach(Part, Events) ->
    case has(attach_many, 4) of
        true ->
            _ = application:ensure_all_started(telemetry), % in a release it may come behind us
            attached(Part, Events);
        false -> {error, no_telemetry}
    end.

has(Function, Arity) ->
    code:ensure_loaded(telemetry) =:= {module, telemetry} andalso erlang:function_exported(telemetry, Function, Arity).

attached(Part, Events) ->
    case harmless(attach, fun() -> lists:foreach(fun(Event) -> attach_one(Part, Event) end, Events) end) of
        failed -> {error, no_telemetry};
        ok -> ok
    end.

attach_one(Part, Event) ->
    apply_to(telemetry, attach_many, [{?MODULE, Part, Event}, [Event], fun ?MODULE:handle/4, Part]).

%% @doc The handlers' identities.
-spec attached() -> [{?MODULE, pyusdt_instrument:part() | query, [atom()]}].
attached() ->
    case harmless(attached, fun() -> has(list_handlers, 1) andalso apply_to(telemetry, list_handlers, [[]]) end) of
        None when is_atom(None) -> [];
        Handlers -> [Identity || #{id := {?MODULE, _, _} = Identity} <- Handlers]
    end.

-spec detach() -> ok.
detach() ->
    lists:foreach(fun(Identity) -> harmless(detach, fun() -> apply_to(telemetry, detach, [Identity]) end) end, attached()).

%% @doc telemetry's call.
-spec handle([atom()], map(), map(), atom()) -> ok.
handle(Event, Measurements, Metadata, Part) ->
    _ = harmless(Part, fun() -> told(Part, Event, Measurements, Metadata) end),
    ok.

told(telemetry, Event, Measurements, Metadata) ->
    Name = lists:join($., [atom_to_binary(Each) || Each <- Event]),
    pyusdt_framework_probes:is_wanted(telemetry, event) andalso pyusdt_framework_probes:fire(telemetry, event, [Name, Measurements, Metadata]);
told(phoenix, [phoenix, endpoint, start], _, #{conn := Conn}) ->
    pyusdt_http_requests:is_wanted() andalso begins(Conn);
told(phoenix, [phoenix, endpoint, stop], _, #{conn := Conn}) ->
    ends(Conn);
told(phoenix, [phoenix, router_dispatch, start], _, #{conn := Conn, route := Route}) ->
    pyusdt_http_requests:is_wanted() andalso (pyusdt_http_requests:route(around(Conn), Route) orelse pyusdt_http_requests:route(alone(), Route));
told(cowboy, [cowboy, request, start], _, #{req := #{pid := Pid, streamid := Stream} = Request}) ->
    #{method := Method, path := Path, headers := Headers} = Request,
    pyusdt_http_requests:start({Pid, Stream}, Method, <<>>, Path,
                          pyusdt_http_requests:traceparent(maps:get(<<"traceparent">>, Headers, <<>>)));
told(cowboy, [cowboy, request, _], #{resp_body_length := Bytes}, #{pid := Pid, streamid := Stream} = Metadata) ->
    pyusdt_http_requests:done({Pid, Stream}, maps:get(resp_status, Metadata, -1), Bytes);
told(ecto, [ecto, repo, init], _, #{opts := Options}) ->
    attach(query, [proplists:get_value(telemetry_prefix, Options) ++ [query]]);
told(query, _, Measurements, #{query := Statement, result := Result}) ->
    pyusdt_framework_probes:is_wanted(db, 'query-done') andalso
        pyusdt_framework_probes:fire(db, 'query-done', [Statement, rows(Result), asked(Measurements), error_of(Result)]);
told(broadway, [broadway, processor, message, What], Measurements, #{topology_name := Name} = Metadata) ->
    task(What, ?MESSAGE, shown(Name), Measurements, fun() -> is_message_done(Metadata) end);
told(broadway, [broadway, batch_processor, What], Measurements, #{topology_name := Name, batch_info := #{batcher := Batcher}} = Metadata) ->
    task(What, ?BATCH, [shown(Name), $/, atom_to_binary(Batcher)], Measurements, fun() -> maps:get(failed_messages, Metadata) =:= [] end);
told(_, _, _, _) ->
    false. % a library that is newer than these lists

nanoseconds(Time) ->
    erlang:convert_time_unit(Time, native, nanosecond).

%% ---- Phoenix ----

%% A request that cowboy answers is cowboy's: what Phoenix knows is its route.
begins(#{method := Method, request_path := Path, req_headers := Headers} = Conn) ->
    Traceparent = pyusdt_http_requests:traceparent(proplists:get_value(<<"traceparent">>, Headers, <<>>)),
    _ = untag(), % of one before, which has not come to its end
    pyusdt_http_requests:forget(alone()),
    _ = Traceparent =/= <<>> andalso put(?TAG, {pyusdt:put_tag(Traceparent)}),
    pyusdt_http_requests:is_known(around(Conn)) orelse pyusdt_http_requests:start(alone(), Method, <<>>, Path, Traceparent).

ends(#{status := Status} = Conn) ->
    _ = untag(),
    pyusdt_http_requests:is_known(alone()) andalso pyusdt_http_requests:done(alone(), Status, bytes(Conn)).

untag() ->
    case erase(?TAG) of
        {Before} -> pyusdt:put_tag(Before);
        undefined -> ok
    end.

%% The key of cowboy's request that Plug.Cowboy has made of it.
around(#{adapter := {_, #{pid := Pid, streamid := Stream}}}) -> {Pid, Stream};
around(_) -> alone().

alone() -> {self(), phoenix}.

%% An answer in pieces has no body yet.
bytes(#{resp_body := Body}) when is_binary(Body); is_list(Body) -> iolist_size(Body);
bytes(#{resp_headers := Headers}) -> binary_to_integer(proplists:get_value(<<"content-length">>, Headers, <<"0">>)).

%% ---- Ecto ----

rows({ok, #{num_rows := Rows}}) when is_integer(Rows) -> Rows;
rows(_) -> -1.

error_of({error, #{'__struct__' := Kind}}) -> shown(Kind);
error_of({error, Kind}) when is_atom(Kind) -> shown(Kind);
error_of({error, _}) -> <<"error">>;
error_of(_) -> <<>>.

%% Without the wait for a connection, as Python's.
asked(#{query_time := Time}) when is_integer(Time) -> nanoseconds(Time);
asked(#{total_time := Time}) -> nanoseconds(Time).

%% ---- Broadway ----

task(start, Key, Name, _, _) ->
    (pyusdt_framework_probes:is_wanted(task, start) orelse pyusdt_framework_probes:is_wanted(task, done)) andalso begin
        put(Key, traced),
        pyusdt_framework_probes:fire(task, start, [Name, <<>>, <<>>])
    end;
task(What, Key, Name, #{duration := Duration}, IsDone) ->
    erase(Key) =:= traced andalso
        pyusdt_framework_probes:fire(task, done, [Name, state(What =:= stop andalso IsDone()), nanoseconds(Duration), <<>>]).

state(true) -> <<"SUCCESS">>;
state(false) -> <<"FAILURE">>.

is_message_done(#{message := #{status := ok}}) -> true;
is_message_done(_) -> false.

%% ---- all events ----

%% @doc All events from now on, where the emulator has trace sessions (OTP 27): what unwatch/1 takes. The session's tracer is ours
%% (pyusdt_nif), which fires in the process that executes an event; the module `trace' is called by its name's value, since
%% older OTPs have none.
-spec watch() -> {session, term()} | none.
watch() ->
    case harmless(telemetry, fun watched/0) of
        {session, _} = Session -> Session;
        _ -> none
    end.

watched() ->
    case has(execute, 3) andalso code:ensure_loaded(trace) =:= {module, trace} andalso erlang:function_exported(trace, session_create, 3)
             andalso is_probe_there() of
        true ->
            Session = apply_to(trace, session_create, [?MODULE, {pyusdt_nif, telemetry}, []]),
            _ = apply_to(trace, function, [Session, {telemetry, execute, 3}, [], [meta]]),
            {session, Session};
        false ->
            none
    end.

is_probe_there() ->
    case pyusdt_framework_probes:probe(telemetry, event) of
        none -> false;
        Probe -> pyusdt_nif:telemetry_probe(pyusdt:reference(Probe))
    end.

-spec unwatch({session, term()} | none) -> ok.
unwatch(none) ->
    ok;
unwatch({session, Session}) ->
    _ = harmless(telemetry, fun() -> apply_to(trace, session_destroy, [Session]) end),
    ok.
