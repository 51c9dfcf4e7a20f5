%% pyusdt_instrument while nothing is traced, without the libraries. tests/erlang has the tests with
%% tracers.
-module(pyusdt_instrument_tests).

-include_lib("eunit/include/eunit.hrl").

%% In this order, each alone: there is one server.
server_test_() ->
    {foreach, fun() -> ok end, fun(_) -> pyusdt_instrument:disable() end,
     [fun all_parts_and_none/0, fun some_parts_and_more/0, fun wrong_options/0, fun what_fails_is_counted/0, fun requests_are_off/0,
      fun probes_that_can_not_be_had/0]}.

all_parts_and_none() ->
    ?assertEqual({error, disabled}, pyusdt_instrument:info()),
    ?assertEqual(ok, pyusdt_instrument:enable()),
    ?assertMatch({ok, #{module := pyusdt_logger_h}}, logger:get_handler_config(pyusdt)),
    ?assertMatch(#{let_go := 0, trouble := []}, pyusdt_instrument:info()),
    ?assertEqual(lists:sort(pyusdt_instrument:parts()), maps:get(parts, pyusdt_instrument:info())),
    ?assertEqual(ok, pyusdt_instrument:disable()),
    ?assertMatch({error, _}, logger:get_handler_config(pyusdt)),
    ?assertEqual(ok, pyusdt_instrument:disable()).

some_parts_and_more() ->
    ?assertEqual(ok, pyusdt_instrument:enable(#{parts => [ecto]})),
    ?assertMatch(#{parts := [ecto]}, pyusdt_instrument:info()),
    ?assertMatch({error, _}, logger:get_handler_config(pyusdt)),
    ?assertEqual(ok, pyusdt_instrument:enable(#{parts => [logger]})),
    ?assertMatch(#{parts := [ecto, logger]}, pyusdt_instrument:info()).

wrong_options() ->
    ?assertEqual({error, {badarg, [phoneix]}}, pyusdt_instrument:enable(#{parts => [phoneix, ecto]})),
    ?assertEqual({error, {badarg, [part]}}, pyusdt_instrument:enable(#{part => []})),
    ?assertEqual({error, {badarg, all}}, pyusdt_instrument:enable(all)),
    ?assertEqual({error, disabled}, pyusdt_instrument:info()).

what_fails_is_counted() ->
    Fail = fun() -> pyusdt_instrument:count_failures(here, fun() -> error({badmatch, secret}) end) end,
    ?assertEqual(failed, Fail()), % and nothing counts
    ok = pyusdt_instrument:enable(#{parts => []}),
    [failed, failed] = [Fail(), Fail()],
    failed = pyusdt_instrument:count_failures(there, fun() -> throw("text") end),
    17 = pyusdt_instrument:count_failures(here, fun() -> 17 end),
    ?assertMatch(#{trouble := [{here, 2, {error, badmatch}}, {there, 1, {throw, other}}]}, pyusdt_instrument:info()).

requests_are_off() ->
    ok = pyusdt_instrument:enable(#{parts => []}),
    Key = {self(), 1},
    ?assertEqual(false, pyusdt_http_requests:start(Key, <<"GET">>, <<>>, <<"/">>, <<>>)),
    ?assertEqual({false, false, false}, {pyusdt_http_requests:is_known(Key), pyusdt_http_requests:set_route(Key, <<"/">>), pyusdt_http_requests:done(Key, 200, 0)}),
    ?assertEqual(stop, pyusdt_logger_h:filter(#{level => info, msg => {string, "a"}, meta => #{}}, [])).

%% No request waits for the server: a probe that could not be made once is not tried again.
probes_that_can_not_be_had() ->
    ok = pyusdt_instrument:enable(#{parts => []}),
    ok = pyusdt_instrument:disable(),
    Start = {pyusdt_framework_probes, http, 'request-start'},
    Probe = persistent_term:get(Start),
    true = persistent_term:erase(Start),
    ok = stand_in(cowboy_stream, "init(_, _, _) -> {[], next}."),
    Request = #{method => <<"GET">>, path => <<"/">>, headers => #{}},
    ?assertMatch({[], _}, pyusdt_cowboy_h:init(1, Request, #{})),
    ?assertEqual({error, disabled}, pyusdt_instrument:info()),
    persistent_term:put(Start, Probe).

%% A module with this function, which has three arguments, until the node ends.
stand_in(Module, Text) ->
    {ok, Tokens, _} = erl_scan:string(Text),
    {ok, Function} = erl_parse:parse_form(Tokens),
    {ok, Module, Code} = compile:forms([{attribute, 1, module, Module}, {attribute, 1, export, [{init, 3}]}, Function]),
    {module, Module} = code:load_binary(Module, "made up", Code),
    ok.

traceparent_test_() ->
    Known = <<"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01">>,
    [?_assertEqual(Wanted, pyusdt_http_requests:read_traceparent(Given))
     || {Given, Wanted} <- [{Known, Known}, {<<Known/binary, "-later">>, Known}, {<<>>, <<>>}, {<<"x", Known/binary>>, <<>>},
                            {string:uppercase(Known), <<>>}, {binary:part(Known, 0, 54), <<>>}, {17, <<>>}]].

status_test_() ->
    [?_assertEqual(Wanted, pyusdt_http_requests:read_status(Given))
     || {Given, Wanted} <- [{200, 200}, {<<"404 Not Found">>, 404}, {undefined, -1}, {nil, -1}]].

%% As Python's: a script that asks for level >= 30 gets warnings of both.
level_test() ->
    Levels = [debug, info, notice, warning, error, critical, alert, emergency],
    ?assertEqual([10, 20, 25, 30, 40, 50, 60, 70], [pyusdt_logger_h:level(Level) || Level <- Levels]).

shown_test() ->
    ?assertEqual([<<"Shop.Repo">>, <<"shop">>], [pyusdt_instrument:display_name(Name) || Name <- ['Elixir.Shop.Repo', shop]]).

%% Each event that is mapped is one of those that the library documents.
lists_test_() ->
    [?_assertEqual([], pyusdt_telemetry:mapped_events(Part) -- pyusdt_telemetry:documented_events(Part)) || Part <- [phoenix, ecto, broadway, cowboy]].
