%% A node with erltrace_monitor: it fires, and prints what the collector of prometheus.erl, telemetry and alarm_handler were given.
-module(monitored).
-export([main/0, messages/0]).
-export([init/1, handle_event/2, handle_call/2]). % of gen_event: alarms, which may be over before anybody looks, as messages

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
    ok = gen_event:add_handler(alarm_handler, ?MODULE, self()),
    prometheus_registry:register_collector(erltrace_monitor),
    {error, {dtrace, Wrong}} = no_monitor(["jobs name=9"]),
    io:format("wrong: ~ts~n", [Wrong]),
    {ok, Monitor} = erltrace_monitor:start_link(?SCRIPT, #{interval => 50, metrics => ?LINES, alerts => ["2"], options => #{"alertends" => "1s"}}),
    {error, {already_started, Monitor}} = erltrace_monitor:start_link(?SCRIPT, #{}),
    fire([0, 1023, 1024]),
    counted(3),
    true = dyntrace:user_trace_s1("clear"),
    fire([1]),
    Alarm = receive {set_alarm, Set} -> Set end,
    {{erltrace, <<"2">>, #{<<"queue">> := <<?HOSTILE>>}}, #{<<"values">> := #{<<"size">> := 1023}, <<"state">> := <<"firing">>}} = Alarm,
    receive {telemetry, [erltrace, alert], #{count := 1}, #{<<"state">> := <<"firing">>}} -> ok end,
    counted(4),
    io:format("~ts", [prometheus_text_format:format()]),
    First = element(1, Alarm),
    receive {clear_alarm, First} -> ok end,
    fire([2000]),
    receive {set_alarm, {First, _}} -> ok end,
    ok = gen_server:stop(Monitor),
    receive {clear_alarm, First} -> ok end,
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

init(Listener) -> {ok, Listener}.
handle_event(Event, Listener) -> Listener ! Event, {ok, Listener}.
handle_call(_, Listener) -> {ok, none, Listener}.
