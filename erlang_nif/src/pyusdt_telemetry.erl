%% @doc Events of the library telemetry as probes: Phoenix, Ecto, Broadway, Cowboy
%% (cowboy_telemetry).
%%
%% The handlers run in the processes that execute the events and fire probes of http, db and task.
%% telemetry:::event fires for each event of the lists; on OTP 27 and later for all events, by a
%% trace session on telemetry:execute/3. A handler raises nothing, so telemetry never removes it.
%% Times are nanoseconds.
-module(pyusdt_telemetry).

-export([attach/2, detach/0, list_handlers/0, watch_all/1, unwatch_all/1]).
-export([handle/4, documented_events/1, mapped_events/1]).

-import(pyusdt_instrument, [apply_to/3, count_failures/2, display_name/1]).

-define(TAG, '$pyusdt_tag_before'). % in a request's process: the tag before it
-define(MESSAGE, '$pyusdt_message').
-define(BATCH, '$pyusdt_batch').

%% ---- handlers ----

%% @doc The documented events of the libraries. The query events of Ecto have a name for each
%% repository, which it reports when it starts.
-spec documented_events(pyusdt_instrument:part()) -> [[atom()]].
documented_events(phoenix) ->
    [[phoenix, endpoint, start], [phoenix, endpoint, stop], [phoenix, router_dispatch, start], [phoenix, router_dispatch, stop],
     [phoenix, router_dispatch, exception], [phoenix, error_rendered], [phoenix, socket_connected], [phoenix, channel_joined],
     [phoenix, channel_handled_in]];
documented_events(cowboy) ->
    [[cowboy, request, start], [cowboy, request, stop], [cowboy, request, exception], [cowboy, request, early_error]];
documented_events(ecto) ->
    [[ecto, repo, init]];
documented_events(broadway) ->
    [[broadway, topology, init], [broadway, processor, start], [broadway, processor, stop], [broadway, processor, message, start],
     [broadway, processor, message, stop], [broadway, processor, message, exception], [broadway, batch_processor, start],
     [broadway, batch_processor, stop], [broadway, batcher, start], [broadway, batcher, stop]];
documented_events(_) ->
    [].

%% @doc Those of them that have a probe of the table.
-spec mapped_events(pyusdt_instrument:part()) -> [[atom()]].
mapped_events(phoenix) -> [[phoenix, endpoint, start], [phoenix, endpoint, stop], [phoenix, router_dispatch, start]];
mapped_events(cowboy) -> [[cowboy, request, What] || What <- [start, stop, exception]];
mapped_events(ecto) -> [[ecto, repo, init]];
mapped_events(broadway) -> [[broadway, batch_processor, What] || What <- [start, stop]]
                        ++ [[broadway, processor, message, What] || What <- [start, stop, exception]].

%% @doc A handler for these events, as part of that: again, nothing more. What telemetry answers, or that it is not there.
-spec attach(pyusdt_instrument:part() | query, [[atom()]]) -> ok | {error, term()}.
attach(_Part, []) ->
    ok;
attach(Part, Events) ->
    case is_exported(attach_many, 4) of
        true ->
            _ = application:ensure_all_started(telemetry), % in a release it may start after this application
            list_handlers(Part, Events);
        false -> {error, no_telemetry}
    end.

is_exported(Function, Arity) ->
    code:ensure_loaded(telemetry) =:= {module, telemetry} andalso erlang:function_exported(telemetry, Function, Arity).

list_handlers(Part, Events) ->
    case count_failures(attach, fun() -> lists:foreach(fun(Event) -> attach_one(Part, Event) end, Events) end) of
        failed -> {error, no_telemetry};
        ok -> ok
    end.

attach_one(Part, Event) ->
    apply_to(telemetry, attach_many, [{?MODULE, Part, Event}, [Event], fun ?MODULE:handle/4, Part]).

%% @doc The handlers' identities.
-spec list_handlers() -> [{?MODULE, pyusdt_instrument:part() | query, [atom()]}].
list_handlers() ->
    case count_failures(attached, fun() -> is_exported(list_handlers, 1) andalso apply_to(telemetry, list_handlers, [[]]) end) of
        None when is_atom(None) -> [];
        Handlers -> [Identity || #{id := {?MODULE, _, _} = Identity} <- Handlers]
    end.

-spec detach() -> ok.
detach() ->
    lists:foreach(fun(Identity) -> count_failures(detach, fun() -> apply_to(telemetry, detach, [Identity]) end) end, list_handlers()).

%% @doc telemetry's call.
-spec handle([atom()], map(), map(), atom()) -> ok.
handle(Event, Measurements, Metadata, Part) ->
    _ = count_failures(Part, fun() -> fire_event(Part, Event, Measurements, Metadata) end),
    ok.

fire_event(telemetry, Event, Measurements, Metadata) ->
    Name = lists:join($., [atom_to_binary(Each) || Each <- Event]),
    pyusdt_framework_probes:is_wanted(telemetry, event) andalso pyusdt_framework_probes:fire(telemetry, event, [Name, Measurements, Metadata]);
fire_event(phoenix, [phoenix, endpoint, start], _, #{conn := Conn}) ->
    pyusdt_http_requests:is_wanted() andalso start_request(Conn);
fire_event(phoenix, [phoenix, endpoint, stop], _, #{conn := Conn}) ->
    end_request(Conn);
fire_event(phoenix, [phoenix, router_dispatch, start], _, #{conn := Conn, route := Route}) ->
    pyusdt_http_requests:is_wanted() andalso (pyusdt_http_requests:set_route(cowboy_key(Conn), Route) orelse pyusdt_http_requests:set_route(process_key(), Route));
fire_event(cowboy, [cowboy, request, start], _, #{req := #{pid := Pid, streamid := Stream} = Request}) ->
    #{method := Method, path := Path, headers := Headers} = Request,
    pyusdt_http_requests:start({Pid, Stream}, Method, <<>>, Path,
                          pyusdt_http_requests:read_traceparent(maps:get(<<"traceparent">>, Headers, <<>>)));
fire_event(cowboy, [cowboy, request, _], #{resp_body_length := Bytes}, #{pid := Pid, streamid := Stream} = Metadata) ->
    pyusdt_http_requests:done({Pid, Stream}, maps:get(resp_status, Metadata, -1), Bytes);
fire_event(ecto, [ecto, repo, init], _, #{opts := Options}) ->
    attach(query, [proplists:get_value(telemetry_prefix, Options) ++ [query]]);
fire_event(query, _, Measurements, #{query := Statement, result := Result}) ->
    pyusdt_framework_probes:is_wanted(db, 'query-done') andalso
        pyusdt_framework_probes:fire(db, 'query-done', [Statement, row_count(Result), query_duration(Measurements), error_name(Result)]);
fire_event(broadway, [broadway, processor, message, What], Measurements, #{topology_name := Name} = Metadata) ->
    fire_task(What, ?MESSAGE, display_name(Name), Measurements, fun() -> is_message_done(Metadata) end);
fire_event(broadway, [broadway, batch_processor, What], Measurements, #{topology_name := Name, batch_info := #{batcher := Batcher}} = Metadata) ->
    fire_task(What, ?BATCH, [display_name(Name), $/, atom_to_binary(Batcher)], Measurements, fun() -> maps:get(failed_messages, Metadata) =:= [] end);
fire_event(_, _, _, _) ->
    false. % a library that is newer than these lists

to_nanoseconds(Time) ->
    erlang:convert_time_unit(Time, native, nanosecond).

%% ---- Phoenix ----

%% A request that cowboy answers is cowboy's: Phoenix adds its route.
start_request(#{method := Method, request_path := Path, req_headers := Headers} = Conn) ->
    Traceparent = pyusdt_http_requests:read_traceparent(proplists:get_value(<<"traceparent">>, Headers, <<>>)),
    _ = restore_tag(), % of an earlier request, which has not ended
    pyusdt_http_requests:forget(process_key()),
    _ = Traceparent =/= <<>> andalso put(?TAG, {pyusdt:put_tag(Traceparent)}),
    pyusdt_http_requests:is_known(cowboy_key(Conn)) orelse pyusdt_http_requests:start(process_key(), Method, <<>>, Path, Traceparent).

end_request(#{status := Status} = Conn) ->
    _ = restore_tag(),
    pyusdt_http_requests:is_known(process_key()) andalso pyusdt_http_requests:done(process_key(), Status, body_size(Conn)).

restore_tag() ->
    case erase(?TAG) of
        {Before} -> pyusdt:put_tag(Before);
        undefined -> ok
    end.

%% The key of cowboy's request that Plug.Cowboy has made of it.
cowboy_key(#{adapter := {_, #{pid := Pid, streamid := Stream}}}) -> {Pid, Stream};
cowboy_key(_) -> process_key().

process_key() -> {self(), phoenix}.

%% An answer in pieces has no body yet.
body_size(#{resp_body := Body}) when is_binary(Body); is_list(Body) -> iolist_size(Body);
body_size(#{resp_headers := Headers}) -> binary_to_integer(proplists:get_value(<<"content-length">>, Headers, <<"0">>)).

%% ---- Ecto ----

row_count({ok, #{num_rows := Rows}}) when is_integer(Rows) -> Rows;
row_count(_) -> -1.

error_name({error, #{'__struct__' := Kind}}) -> display_name(Kind);
error_name({error, Kind}) when is_atom(Kind) -> display_name(Kind);
error_name({error, _}) -> <<"error">>;
error_name(_) -> <<>>.

%% Without the wait for a connection, as Python's.
query_duration(#{query_time := Time}) when is_integer(Time) -> to_nanoseconds(Time);
query_duration(#{total_time := Time}) -> to_nanoseconds(Time).

%% ---- Broadway ----

fire_task(start, Key, Name, _, _) ->
    (pyusdt_framework_probes:is_wanted(task, start) orelse pyusdt_framework_probes:is_wanted(task, done)) andalso begin
        put(Key, traced),
        pyusdt_framework_probes:fire(task, start, [Name, <<>>, <<>>])
    end;
fire_task(What, Key, Name, #{duration := Duration}, IsDone) ->
    erase(Key) =:= traced andalso
        pyusdt_framework_probes:fire(task, done, [Name, task_state(What =:= stop andalso IsDone()), to_nanoseconds(Duration), <<>>]).

task_state(true) -> <<"SUCCESS">>;
task_state(false) -> <<"FAILURE">>.

is_message_done(#{message := #{status := ok}}) -> true;
is_message_done(_) -> false.

%% ---- all events ----

%% @doc All events from now on, if the emulator has trace sessions (OTP 27); the result is for
%% unwatch_all/1. The session's tracer is ours (pyusdt_nif), which fires in the process that
%% executes an event; the module `trace' is called through a variable, since older OTPs do not have
%% it.
-spec watch_all(Secrets :: boolean()) -> {session, term()} | none.
watch_all(Secrets) ->
    case count_failures(telemetry, fun() -> has_probe(Secrets) andalso create_session() end) of
        {session, _} = Session -> Session;
        _ -> none
    end.

create_session() ->
    case is_exported(execute, 3) andalso code:ensure_loaded(trace) =:= {module, trace} andalso erlang:function_exported(trace, session_create, 3) of
        true ->
            Session = apply_to(trace, session_create, [?MODULE, {pyusdt_nif, telemetry}, []]),
            _ = apply_to(trace, function, [Session, {telemetry, execute, 3}, [], [meta]]),
            {session, Session};
        false ->
            none
    end.

has_probe(Secrets) ->
    case pyusdt_framework_probes:probe(telemetry, event) of
        none -> false;
        Probe -> pyusdt_nif:telemetry_probe(pyusdt:reference(Probe), Secrets)
    end.

-spec unwatch_all({session, term()} | none) -> ok.
unwatch_all(none) ->
    ok;
unwatch_all({session, Session}) ->
    _ = count_failures(telemetry, fun() -> apply_to(trace, session_destroy, [Session]) end),
    ok.
