%% A node with erltrace_monitor: it fires, and prints what the collector of prometheus.erl, telemetry and alarm_handler were given.
-module(monitored).
-export([main/0, messages/0]).

-define(SCRIPT, "erlang$target:::user_trace-i4s4 { @jobs[copyinstr(arg6)] = count(); @size = quantize(arg2); @sum = sum(arg2);"
                " @bare = quantize(arg2); @mean = avg(arg2); }"
                "erlang$target:::user_trace-i4s4 /arg2 > 1000/ { printf(\"queue=%s size=%d\", copyinstr(arg6), arg2); }"
                "erlang$target:::user_trace-s1 { clear(@jobs); trunc(@size); trunc(@sum); }").
-define(LINES, ["jobs name=shop_jobs labels=queue help=h", "size name=shop_size unit=bytes sum=sum help=h", "bare name=bare help=h",
                "mean name=mean help=h"]).
-define(HOSTILE, "\"} 1\nevil 1\n").

main() ->
    true = dyntrace:available(),
    {module, telemetry} = code:ensure_loaded(telemetry),
    true = register(telemetry_listener, self()),
    [{ok, _} = application:ensure_all_started(App) || App <- [prometheus, sasl]],
    prometheus_registry:register_collector(erltrace_monitor),
    {error, {dtrace, Wrong}} = no_monitor(["jobs name=9"]),
    io:format("wrong: ~ts~n", [Wrong]),
    {ok, Monitor} = erltrace_monitor:start_link(?SCRIPT, #{interval => 50, metrics => ?LINES, alerts => ["2"], options => #{"alertends" => "1s"}}),
    {error, {already_started, Monitor}} = erltrace_monitor:start_link(?SCRIPT, #{}),
    fire([0, 1023, 1024]),
    counted(3),
    true = dyntrace:user_trace_s1("clear"),
    fire([1]),
    [Alarm] = until(fun alarm_handler:get_alarms/0, fun(All) -> All =/= [] end),
    {{erltrace, <<"2">>, #{<<"queue">> := <<?HOSTILE>>}}, #{<<"values">> := #{<<"size">> := 1023}, <<"state">> := <<"firing">>}} = Alarm,
    receive {telemetry, [erltrace, alert], #{count := 1}, #{<<"state">> := <<"firing">>}} -> ok end,
    counted(4),
    io:format("~ts", [prometheus_text_format:format()]),
    [] = until(fun alarm_handler:get_alarms/0, fun(All) -> All =:= [] end),
    fire([2000]),
    [_] = until(fun alarm_handler:get_alarms/0, fun(All) -> All =/= [] end),
    ok = gen_server:stop(Monitor),
    [] = until(fun alarm_handler:get_alarms/0, fun(All) -> All =:= [] end),
    nomatch = string:find(prometheus_text_format:format(), "shop_jobs").

%% Alerts as messages of erltrace:start_link/2, to whom no credit is left as well: they wait.
messages() ->
    {ok, Server} = erltrace:start_link(?SCRIPT, #{credits => 0, interval => infinity, alerts => ["2"], options => #{"alertends" => "1s"}}),
    fire([1024]),
    receive {erltrace, Server, _} -> exit(no_credit_was_given) after 300 -> ok end,
    erltrace:credit(Server, 100),
    receive {erltrace, Server, {alert, #{<<"state">> := <<"firing">>, <<"labels">> := #{<<"queue">> := <<?HOSTILE>>}}}} -> ok end,
    receive {erltrace, Server, {alert, #{<<"state">> := <<"resolved">>, <<"count">> := 1}}} -> ok end,
    process_flag(trap_exit, true),
    {error, {dtrace, Wrong}} = erltrace:start_link(?SCRIPT, #{alerts => ["9"]}),
    io:format("~ts~n", [Wrong]).

no_monitor(Lines) ->
    process_flag(trap_exit, true),
    Answer = erltrace_monitor:start_link(?SCRIPT, #{metrics => Lines}),
    receive {'EXIT', _, _} -> Answer end.

fire(Sizes) ->
    [true = dyntrace:p(Size, ?HOSTILE) || Size <- Sizes].

%% Until telemetry was told so.
counted(Number) ->
    receive {telemetry, [erltrace, metric], #{value := Number}, #{name := <<"shop_jobs_total">>, kind := counter, labels := #{<<"queue">> := _}}} -> ok end.

until(Function, IsIt) ->
    Found = Function(),
    case IsIt(Found) of
        true -> Found;
        false -> timer:sleep(10), until(Function, IsIt)
    end.
