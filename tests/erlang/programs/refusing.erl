%% A node that runs until it is killed, for the tests of what a node refuses its tracers.
%%
%% erl -run refusing wait SETUP: offers the probes, does what SETUP names, says "ready", then calls price/1 for ever.
-module(refusing).

-export([shown/1, wait/1, price/1, cost/1, busy/0, loop/1, hidden/1, fails/1, login/2]).

-record(account, {name, password, tax = 1, api_key :: term()}).

wait([Setup]) ->
    ok = pyusdt_vm:enable(maps:merge(#{unsafe => true}, options(Setup))),
    setup(Setup),
    io:format("ready~n"),
    call(Setup).

options("time") -> #{time => 300};
options("values") -> #{secrets => os:getenv("SECRETS") =/= false};
options("loops") -> #{loops => [{?MODULE, loop, 1}], depth => 500};
options("depth") -> #{depth => 500};
options(Setup) when Setup =:= "flood"; Setup =:= "burst"; Setup =:= "filtered" -> #{rate => 20000};
options(_) -> #{}.

%% Another tool, before ours and after it.
setup("monitor") ->
    _ = erlang:system_monitor(spawn(fun idle/0), [busy_port]), ok;
setup("monitor_later") ->
    Pid = spawn(fun idle/0),
    _ = spawn(fun() -> until_monitor(), erlang:system_monitor(Pid, [busy_port]), idle() end), ok;
setup("tracer") ->
    Tracer = spawn(fun idle/0),
    1 = erlang:trace(spawn(fun idle/0), true, [send, {tracer, Tracer}]),
    1 = erlang:trace_pattern({?MODULE, price, 1}, true, [{meta, Tracer}]), ok;
setup("clear") ->
    _ = spawn(fun() -> until_traced(), erlang:trace(all, false, [all]), erlang:trace_pattern({'_', '_', '_'}, false, [meta]), idle() end), ok;
setup("values") ->
    _ = spawn(fun Call() ->
                      _ = login(#{user => <<"ann">>, password => <<"hunter2">>, "apiKey" => 1, <<"card_number">> => 2, author => me},
                                [{db_password, x}, {tokens, [7]}, {tax, 1.5}]),
                      _ = (catch fails(0)),
                      _ = shown(#account{name = ann, password = "hunter2", api_key = {key, 1}}),
                      timer:sleep(10),
                      Call()
              end), ok;
setup("terms") ->
    _ = spawn(fun Call() -> _ = [?MODULE:shown(Term) || Term <- terms()], timer:sleep(10), Call() end), ok;
setup("flood") ->
    _ = [spawn(?MODULE, busy, []) || _ <- lists:seq(1, erlang:system_info(schedulers_online))], ok;
setup(Which) when Which =:= "loop"; Which =:= "loops"; Which =:= "depth" ->
    true = register(looping, spawn(?MODULE, loop, [0])),
    true = register(hiding, spawn(fun() -> put(next, fun ?MODULE:hidden/1), hidden(0) end)),
    _ = spawn(fun Send() -> timer:sleep(1), looping ! job, hiding ! job, _ = (catch fails(0)), Send() end),
    _ = spawn(fun Answer() -> is_list(io:get_line("")) andalso begin say(), Answer() end end), ok;
setup(_) ->
    ok.

say() ->
    Words = [begin {stack_size, N} = process_info(whereis(Name), stack_size), N end || Name <- [looping, hiding]],
    io:format("stacks ~w~n", [Words]).

loop(N) -> receive job -> loop(N + 1) end.

%% Values that a predicate of D may take for one another.
terms() ->
    [ann, "ann", <<"ann">>, 'Elixir.ann', {ann}, [ann], 'Ann', <<"anna">>, 7, 8, -7, 7.9, "7", 1 bsl 70, -(1 bsl 70), self(), [], #{},
     #{user => ann}, #{user => "ann"}, #{"user" => <<"ann">>}, #{<<"user">> => 9}, #{<<"user">> => bob, user => ann}, #{users => ann},
     {x, ann, y}, {x, bob, y}, {x, 9, y}, {user, ann}, {user, 9}, [{user, ann}], #{password => ann}, #{user => #{n => 9}}, #{user => {1, 9, 3}}].

shown(Term) -> Term.

login(#{user := User}, Options) -> {session, User, length(Options), erlang:phash2({User, secret})}.

%% The code does not show that it calls itself.
hidden(N) -> receive job -> (get(next))(N + 1) end.

fails(N) -> 1 / N.

idle() -> receive stop -> ok end.

until_monitor() ->
    case erlang:system_monitor() of undefined -> timer:sleep(10), until_monitor(); _ -> ok end.

until_traced() ->
    case erlang:trace_info({?MODULE, price, 1}, meta) of {meta, false} -> timer:sleep(10), until_traced(); _ -> timer:sleep(300) end.

call("burst") -> until_armed(), burst(10000), until_refused(), calls(10000), called(10000);
call("filtered") -> until_armed(), burst(10000), called(10000);
call(_) -> call().

call() -> _ = ?MODULE:price(1), timer:sleep(5), call().

until_armed() ->
    case pyusdt_vm:info() of #{armed := true} -> ok; _ -> timer:sleep(10), until_armed() end.

%% The server, which is suspended, cannot switch off what these calls fire.
burst(Calls) ->
    ok = sys:suspend(pyusdt_vm_server),
    calls(Calls),
    ok = sys:resume(pyusdt_vm_server).

calls(Calls) -> lists:foreach(fun price/1, lists:seq(1, Calls)).

called(Calls) -> io:format("called ~b~n", [Calls]), timer:sleep(infinity).

until_refused() ->
    case pyusdt_vm:info() of #{refused := none} -> timer:sleep(10), until_refused(); _ -> ok end.

price(N) -> cost(N) + 1.

cost(N) -> N.

busy() -> _ = price(1), busy().
