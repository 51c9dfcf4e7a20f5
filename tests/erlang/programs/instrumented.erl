%% Programs that tell telemetry, logger and cowboy what they do, as Phoenix, Ecto and Broadway do: erl -run instrumented FUNCTION ARGUMENT …
-module(instrumented).

-export([phoenix/1, both/1, ecto/1, broadway/1, logs/1, wrong/1, everything/1, on_and_off/1, served/1, cowboy/1, known_by_name/1]).
-export([init/2, listen/1]). % a handler of cowboy's

enabled() ->
    enabled(#{}).

enabled(Options) ->
    ok = pyusdt_instrument:enable(Options).

conn(Method, Path, Status, Body) ->
    #{'__struct__' => 'Elixir.Plug.Conn', method => Method, request_path => Path, status => Status, resp_body => Body, resp_headers => [],
      req_headers => [{<<"accept">>, <<"*/*">>}, {<<"traceparent">>, trace()}], adapter => {'Elixir.Bandit.Adapter', #{}}}.

trace() -> <<"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01">>.

%% Each request in a process of its own; one in ten is not routed, one raises before an answer and is followed by another in its process.
phoenix([N]) ->
    enabled(),
    each(fun(I) -> page(I, fun() -> pyusdt:p(I, "inside") end) end, list_to_integer(N)),
    Broken = #{conn => conn(<<"GET">>, <<"/broken">>, nil, nil)},
    each(fun(I) -> telemetry:execute([phoenix, endpoint, start], #{}, Broken), page(I, fun() -> ok end) end, 1),
    said(),
    halt().

page(I, Inside) ->
    Path = ["/item/", integer_to_list(I)],
    Conn = conn(<<"GET">>, iolist_to_binary(Path), 200, [<<"item ">>, integer_to_binary(I rem 10)]),
    telemetry:execute([phoenix, endpoint, start], #{system_time => 1}, #{conn => Conn#{status => nil, resp_body => nil}, options => []}),
    _ = I rem 10 =:= 0 orelse telemetry:execute([phoenix, router_dispatch, start], #{system_time => 1}, #{conn => Conn, route => <<"/item/:id">>}),
    Inside(),
    telemetry:execute([phoenix, endpoint, stop], #{duration => 1}, #{conn => Conn, options => []}),
    undefined = pyusdt:get_tag().

%% Phoenix on cowboy, with cowboy_telemetry: once, with cowboy's bytes and Phoenix's route.
both([N]) ->
    enabled(),
    each(fun(I) ->
        Request = #{pid => self(), streamid => I, method => <<"GET">>, path => <<"/both">>, headers => #{<<"traceparent">> => <<"no ", (trace())/binary>>}},
        telemetry:execute([cowboy, request, start], #{system_time => 1}, #{streamid => I, req => Request}),
        telemetry:execute([cowboy, request, start], #{system_time => 1}, #{streamid => I, req => Request}),
        Conn = (conn(<<"GET">>, <<"/both">>, 200, <<>>))#{adapter => {'Elixir.Plug.Cowboy.Conn', Request}},
        {_, Ref} = spawn_monitor(fun() ->
            telemetry:execute([phoenix, endpoint, start], #{}, #{conn => Conn}),
            telemetry:execute([phoenix, router_dispatch, start], #{}, #{conn => Conn, route => <<"/:page">>}),
            telemetry:execute([phoenix, endpoint, stop], #{}, #{conn => Conn})
        end),
        receive {'DOWN', Ref, _, _, normal} -> ok end,
        Done = #{duration => 17, resp_body_length => 1000},
        Told = #{pid => self(), streamid => I, req => Request, resp_status => <<"201 Created">>},
        telemetry:execute([cowboy, request, stop], Done, Told),
        telemetry:execute([cowboy, request, exception], Done, Told#{kind => exit})
    end, list_to_integer(N)),
    said(),
    halt().

ecto([N]) ->
    enabled(#{parts => [ecto], repos => [[old, repo]]}),
    telemetry:execute([ecto, repo, init], #{}, #{repo => 'Elixir.Shop.Repo', opts => [{telemetry_prefix, [shop, repo]}]}),
    Time = erlang:convert_time_unit(3, millisecond, native),
    each(fun(I) ->
        Results = [{[shop, repo, query], {ok, #{num_rows => 3}}}, {[old, repo, query], {ok, #{num_rows => nil}}},
                   {[shop, repo, query], {error, #{'__struct__' => 'Elixir.Postgrex.Error'}}}],
        {Event, Result} = lists:nth(1 + I rem 3, Results),
        telemetry:execute(Event, #{query_time => Time, total_time => 2 * Time}, #{query => <<"select $1">>, result => Result, params => [secret]})
    end, list_to_integer(N)),
    telemetry:execute([new, repo, query], #{query_time => Time}, #{query => <<"never">>, result => {ok, #{num_rows => 1}}}),
    said(),
    halt().

broadway([N]) ->
    enabled(),
    each(fun(I) ->
        Told = #{topology_name => 'Elixir.Shop.Orders', processor_key => default, message => #{status => case I rem 5 of 0 -> {failed, "no"}; _ -> ok end}},
        telemetry:execute([broadway, processor, message, start], #{system_time => 1}, Told),
        case I rem 5 of
            1 -> telemetry:execute([broadway, processor, message, exception], #{duration => 5}, Told#{kind => error, reason => badarg});
            _ -> telemetry:execute([broadway, processor, message, stop], #{duration => 5}, Told)
        end,
        telemetry:execute([broadway, processor, message, stop], #{duration => 5}, Told) % of none that has begun
    end, list_to_integer(N)),
    Batch = #{topology_name => 'Elixir.Shop.Orders', batch_info => #{batcher => s3}, failed_messages => []},
    telemetry:execute([broadway, batch_processor, start], #{system_time => 1}, Batch),
    telemetry:execute([broadway, batch_processor, stop], #{duration => 7}, Batch),
    said(),
    halt().

logs([N]) ->
    ok = logger:update_primary_config(#{level => info}),
    ok = logger:remove_handler(default),
    enabled(),
    [begin
         logger:debug("never"),
         logger:info("plain ~b", [I]),
         logger:notice(#{report => I}),
         logger:log(warning, "by Elixir", #{mfa => {'Elixir.Shop.Cart', add, 1}}),
         logger:log(error, "long " ++ lists:duplicate(2000, $x), #{mfa => {shop, add, 1}}),
         logger:log(emergency, "of a domain", #{domain => [shop, cart]})
     end || I <- lists:seq(1, list_to_integer(N))],
    said(),
    ok = pyusdt_instrument:disable(),
    logger:alert("after the end"),
    halt().

%% What the libraries never say, and what nobody can read: the program goes on, and no handler is taken away.
wrong(_) ->
    enabled(),
    Before = length(telemetry:list_handlers([])),
    [telemetry:execute(Event, Measurements, Metadata)
     || #{event_name := Event} <- telemetry:list_handlers([]), Measurements <- [#{}, #{duration => late, resp_body_length => a}],
        Metadata <- [#{}, #{conn => 1, req => 2, route => {}}, #{conn => #{adapter => {a, #{pid => a, streamid => b}}}, topology_name => 17, message => []},
                     #{req => #{pid => self(), streamid => {}, method => a, path => self(), headers => #{<<"traceparent">> => 1}}},
                     #{opts => [{telemetry_prefix, no_list}]}, #{query => {}, result => {ok, #{num_rows => many}}}]],
    Before = length(telemetry:list_handlers([])),
    {error, {badarg, [phoneix]}} = pyusdt_instrument:enable(#{parts => [phoneix, ecto]}),
    {error, {badarg, [part]}} = pyusdt_instrument:enable(#{part => [ecto]}),
    #{trouble := Trouble, parts := Parts} = pyusdt_instrument:info(),
    io:format("~0p ~0p~n", [[Where || {Where, _, _} <- Trouble], Parts]),
    halt().

everything([N]) ->
    enabled(#{parts => [telemetry], events => [[shop, order, placed]]}),
    each(fun(I) ->
        telemetry:execute([shop, order, placed], #{price => I}, #{item => <<"tea">>, token => <<"hunter2">>}),
        telemetry:execute([phoenix, endpoint, stop], #{duration => I}, #{}),
        telemetry:execute([in, no, list], #{}, #{})
    end, list_to_integer(N)),
    said(),
    halt().

%% Requests that began while nobody traced; requests whose process has ended.
on_and_off(_) ->
    enabled(),
    enabled(#{parts => [ecto]}),
    io:format("there~n"),
    Conn = conn(<<"GET">>, <<"/early">>, 200, <<"abc">>),
    telemetry:execute([phoenix, endpoint, start], #{}, #{conn => Conn}),
    (fun Wait() -> pyusdt_http_requests:is_wanted() orelse begin timer:sleep(10), Wait() end end)(),
    telemetry:execute([phoenix, endpoint, stop], #{}, #{conn => Conn}),
    page(7, fun() -> ok end),
    {Pid, Ref} = spawn_monitor(fun() -> telemetry:execute([phoenix, endpoint, start], #{}, #{conn => Conn}) end),
    receive {'DOWN', Ref, _, Pid, _} -> ok end,
    pyusdt_instrument_server ! check,
    #{let_go := 1, trouble := []} = pyusdt_instrument:info(),
    io:format("over~n"),
    timer:sleep(infinity).

%% ---- cowboy itself ----

init(Request, State) ->
    {ok, answer(cowboy_req:path(Request), Request), State}.

answer(<<"/stream">>, Request) ->
    Begun = cowboy_req:stream_reply(200, Request),
    ok = cowboy_req:stream_body(<<"12345">>, nofin, Begun),
    ok = cowboy_req:stream_body(<<"678">>, fin, Begun),
    Begun;
answer(<<"/file">>, Request) ->
    cowboy_req:reply(200, #{}, {sendfile, 0, 7, code:which(?MODULE)}, Request);
answer(<<"/crash">>, _) ->
    error(crash);
answer(<<"/item/", Number/binary>>, Request) ->
    cowboy_req:reply(200, #{}, [<<"item ">>, Number], Request).

listen(Options) ->
    {ok, _} = application:ensure_all_started(cowboy),
    Number = [{number, int}],
    Rules = cowboy_router:compile([{"localhost", [{"/item/:number", Number, ?MODULE, []}, {"/files/[...]", ?MODULE, []},
                                                  {"/:page", ?MODULE, []}]}]),
    {ok, _} = cowboy:start_clear(shop, [{port, 0}, {ip, {127, 0, 0, 1}}],
                                 maps:merge(#{env => #{dispatch => Rules}, stream_handlers => [pyusdt_cowboy_h, cowboy_stream_h]}, Options)),
    ranch:get_port(shop).

%% A server until its input ends: prints its port.
served(_) ->
    io:format("~b~n", [listen(#{})]),
    eof = io:get_line(""),
    none_left(),
    said(),
    halt().

%% A server that is asked all there is to ask.
cowboy([N]) ->
    ok = pyusdt_instrument:enable(#{parts => []}),
    ok = logger:set_primary_config(level, none),
    Port = listen(#{}),
    each(fun(I) -> <<"HTTP/1.1 200", _/binary>> = asked(Port, ["/item/", integer_to_list(I)], "") end, list_to_integer(N)),
    [asked(Port, Path, "") || Path <- ["/stream", "/file", "/crash", "/a/b/c", "/item/x", "/files/a/b"]],
    asked(Port, "/ws", "upgrade: websocket\r\n"),
    asked(Port, "/item/1", ["traceparent: ", trace(), "\r\n"]),
    none_left(),
    said(),
    halt().

none_left() ->
    ets:info(pyusdt_http_requests, size) =:= 0 orelse begin timer:sleep(10), none_left() end.

asked(Port, Path, Headers) ->
    {ok, Socket} = gen_tcp:connect("localhost", Port, [binary, {active, false}]),
    ok = gen_tcp:send(Socket, ["GET ", Path, " HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n", Headers, "\r\n"]),
    all(Socket, <<>>).

%% Of a handler that crashed cowboy tells, and leaves the connection open.
all(Socket, <<"HTTP/1.1 500", _/binary>> = Answer) ->
    ok = gen_tcp:close(Socket),
    Answer;
all(Socket, Before) ->
    case gen_tcp:recv(Socket, 0, 10000) of
        {ok, More} -> all(Socket, <<Before/binary, More/binary>>);
        {error, closed} -> Before
    end.

%% ---- names of arguments ----

known_by_name(_) ->
    Shop = pyusdt:provider("named"),
    Done = pyusdt:probe(Shop, "request-done", [{route, string}, {"status", int32}, {<<"duration">>, float}, term]),
    eexist = try pyusdt:probe(Shop, "request-done", [{other, string}, int32, float, term]) catch error:Reason -> Reason end,
    [badarg = try pyusdt:probe(Shop, "wrong", Arguments), ok catch error:R -> R end
     || Arguments <- [[{"a b", int}], [{"", int}], [{a, int}, {a, string}], [{"nul\0", int}], [{a, integer}], [{17, int}], [{a, b, int}],
                      [{lists:duplicate(64, $n), int}], [{lists:duplicate(300, $n), int}]]],
    #{types := [{route, string}, {"status", int32}, _, term]} = pyusdt:info(Done),
    io:format("there~n"),
    _ = io:get_line(""),
    [true = pyusdt:fire(Done, [Route, 200, 2.5, {ok, Route}]) || Route <- ["/a", undefined, <<"/b">>]],
    timer:sleep(infinity).

%% ----

each(Function, N) ->
    Ends = [begin {_, Ref} = spawn_monitor(fun() -> Function(I) end), Ref end || I <- lists:seq(1, N)],
    [receive {'DOWN', Ref, _, _, Reason} -> normal = Reason end || Ref <- Ends].

said() ->
    #{trouble := Trouble} = pyusdt_instrument:info(),
    io:format("trouble ~0p~n", [Trouble]).
