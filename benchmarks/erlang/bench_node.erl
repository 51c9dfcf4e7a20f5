%% The node that is measured. Input: lines of "OPERATION PROCESSES N" on standard input. Output: for each, the nanoseconds that
%% PROCESSES processes took for N calls each, all started at once.
%%
%% The operations send, called and switched are what a tracer of the emulator's events sees once each. "offer" offers the
%% emulator's own probes, "instrument" those in libraries, of which request is what Phoenix tells of one request.
%% "dbg send | called | switched" has them traced by a process, as dbg does, "dbg none" no more; so "recon called" and "recon none".
-module(bench_node).
-export([main/0, target/1, sink/0, echo/0]).

main() ->
    dyntrace:put_tag("benchmark"),
    case io:get_line("") of
        eof ->
            halt();
        Line ->
            io:format("~b~n", [answer(string:lexemes(Line, " \n"))]),
            main()
    end.

answer(["offer"]) ->
    ok = pyusdt_vm:enable(#{unsafe => true, rate => infinity, functions => [?MODULE]}),
    0;
answer(["instrument"]) ->
    ok = pyusdt_instrument:enable(),
    0;
answer(["wanted"]) ->
    case pyusdt_http_requests:is_wanted() of true -> 1; false -> 0 end;
answer(["dbg", What]) ->
    dbg(list_to_atom(What)),
    0;
answer(["recon", What]) ->
    recon(list_to_atom(What)),
    0;
answer(["armed"]) ->
    #{armed := Armed} = pyusdt_vm:info(),
    case Armed of true -> 1; false -> 0 end;
answer([Operation, Processes, N]) ->
    measure(list_to_atom(Operation), list_to_integer(Processes), list_to_integer(N)).

%% A tracer that throws away what it is told: the least that one can do.
dbg(none) -> dbg:stop_clear();
dbg(send) -> dbg([send]);
dbg(switched) -> dbg([running]);
dbg(called) -> dbg([call]), {ok, _} = dbg:tpl(?MODULE, target, 1, []);
dbg(Flags) when is_list(Flags) ->
    {ok, _} = dbg:tracer(process, {fun(_, Nothing) -> Nothing end, none}),
    {ok, _} = dbg:p(all, Flags).

%% The same of recon: it formats as nothing what it would print, and never comes to its limit.
recon(none) -> recon_trace:clear();
recon(called) ->
    1 = recon_trace:calls({?MODULE, target, '_'}, 1 bsl 40, [{scope, local}, {formatter, fun(_) -> "" end}]).

measure(Operation, 1, N) ->
    timed(fun() -> repeat(Operation, N div 10) end);
measure(Operation, Processes, N) ->
    Pids = [spawn_monitor(fun() ->
        dyntrace:put_tag("benchmark"),
        receive go -> repeat(Operation, N div 10) end
    end) || _ <- lists:seq(1, Processes)],
    timed(fun() ->
        [Pid ! go || {Pid, _} <- Pids],
        [receive {'DOWN', Monitor, _, _, normal} -> ok end || {_, Monitor} <- Pids]
    end).

timed(Fun) ->
    Start = erlang:monotonic_time(nanosecond),
    Fun(),
    erlang:monotonic_time(nanosecond) - Start.

%% Ten calls a round, so that counting the rounds weighs little.
repeat(_, 0) ->
    ok;
repeat(empty, N) ->
    empty_nif:call(1, 2, "a"), empty_nif:call(1, 2, "a"), empty_nif:call(1, 2, "a"), empty_nif:call(1, 2, "a"),
    empty_nif:call(1, 2, "a"), empty_nif:call(1, 2, "a"), empty_nif:call(1, 2, "a"), empty_nif:call(1, 2, "a"),
    empty_nif:call(1, 2, "a"), empty_nif:call(1, 2, "a"),
    repeat(empty, N - 1);
repeat(p, N) ->
    dyntrace:p(1, 2, "a"), dyntrace:p(1, 2, "a"), dyntrace:p(1, 2, "a"), dyntrace:p(1, 2, "a"),
    dyntrace:p(1, 2, "a"), dyntrace:p(1, 2, "a"), dyntrace:p(1, 2, "a"), dyntrace:p(1, 2, "a"),
    dyntrace:p(1, 2, "a"), dyntrace:p(1, 2, "a"),
    repeat(p, N - 1);
repeat(send, N) ->
    Sink = spawn(?MODULE, sink, []),
    _ = [Sink ! {self(), a_message} || _ <- lists:seq(1, 10 * N)],
    Sink ! {self(), stop},
    receive {Sink, stopped} -> ok end;
repeat(called, N) ->
    _ = [?MODULE:target(I) || I <- lists:seq(1, 10 * N)],
    ok;
repeat(request, N) ->
    Conn = #{method => <<"GET">>, request_path => <<"/item/17">>, req_headers => [{<<"accept">>, <<"*/*">>}], status => 200,
             resp_body => <<"item 17">>, resp_headers => [], adapter => {bandit, #{}}},
    _ = [begin
             pyusdt_telemetry:handle([phoenix, endpoint, start], #{}, #{conn => Conn}, phoenix),
             pyusdt_telemetry:handle([phoenix, router_dispatch, start], #{}, #{conn => Conn, route => <<"/item/:id">>}, phoenix),
             pyusdt_telemetry:handle([phoenix, endpoint, stop], #{}, #{conn => Conn}, phoenix)
         end || _ <- lists:seq(1, 10 * N)],
    ok;
repeat(switched, N) ->
    Echo = spawn(?MODULE, echo, []),
    _ = [begin Echo ! self(), receive Echo -> ok end end || _ <- lists:seq(1, 5 * N)], % two are switched in
    exit(Echo, kill),
    ok.

target(I) -> I.

sink() ->
    receive {From, stop} -> From ! {self(), stopped}; _ -> sink() end.

echo() ->
    receive From -> From ! self(), echo() end.
