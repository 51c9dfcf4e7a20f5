%% Work for the scripts of scripts/erl-*.d, whose counts it knows; see vm.erl.
-module(scripted).

-export([slow/1, tagged/1, requests/1, busy/1, traffic/1, elixir/1]).
-export([nap/1, quick/0]).

%% N slow calls among many quick ones.
slow([N]) ->
    vm:enabled(),
    [begin ?MODULE:quick(), ?MODULE:nap(20) end || _ <- lists:seq(1, list_to_integer(N))],
    vm:done("~p slept", [self()]).

nap(Milliseconds) -> timer:sleep(Milliseconds).

quick() -> ok.

%% Five bytes N times, for a tag; and one file that is not there, for nobody.
tagged([N]) ->
    Name = filename:join(os:getenv("VM_FOLDER"), "tagged"),
    vm:enabled(),
    dyntrace:put_tag("order 7"),
    {ok, File} = file:open(Name, [raw, write]),
    [ok = file:write(File, <<"hello">>) || _ <- lists:seq(1, list_to_integer(N))],
    ok = file:close(File),
    dyntrace:put_tag(undefined),
    {error, enoent} = prim_file:delete(Name ++ "s"),
    vm:done("written", []).

%% N requests through three processes of two nodes.
requests([N]) ->
    {ok, _} = net_kernel:start([list_to_atom(peer:random_name()), shortnames]),
    Paths = lists:append([["-pa", filename:dirname(code:which(Module))] || Module <- [?MODULE, pyusdt]]),
    {ok, Peer, There} = peer:start(#{name => peer:random_name(), args => Paths}),
    {module, _} = erpc:call(There, code, ensure_loaded, [dyntrace]),
    Store = spawn(There, fun Store() -> receive {From, order} -> took("store: answers"), From ! sold, pyusdt:put_tag(undefined), Store() end end),
    Worker = spawn(fun Worker() ->
        receive {From, order} -> took("worker: asks the store"), Store ! {self(), order} end,
        receive sold -> From ! sold end,
        pyusdt:put_tag(undefined),
        Worker()
    end),
    vm:enabled(),
    [request(Worker, I) || I <- lists:seq(1, list_to_integer(N))],
    Theirs = erpc:call(There, os, getpid, []),
    io:format("~s ~s ~p ~p~n", [os:getpid(), Theirs, self(), Worker]),
    timer:sleep(300),
    peer:stop(Peer),
    vm:done("requested", []).

request(Worker, I) ->
    pyusdt:put_tag("order " ++ integer_to_list(I)),
    pyusdt:spread_tag(true),
    dyntrace:p("front: begins"),
    Worker ! {self(), order},
    receive sold -> dyntrace:p("front: ends") end.

%% A step for the tag that came with the message.
took(Step) ->
    pyusdt:put_tag(pyusdt:get_tag_data()),
    dyntrace:p(Step).

%% What Elixir makes of `defmodule Shop.Cart do def add!(x), do: x end' (and of a struct's function), called N times.
elixir([N]) ->
    Function = fun(Name) -> {function, 1, Name, 1, [{clause, 1, [{var, 1, 'X'}], [], [{var, 1, 'X'}]}]} end,
    {ok, Module, Binary} = compile:forms([{attribute, 1, module, 'Elixir.Shop.Cart'}, {attribute, 1, export, [{'add!', 1}, {total, 1}]},
                                          Function('add!'), Function(total)]),
    {module, Module} = code:load_binary(Module, "cart", Binary),
    vm:enabled(),
    {ok, Other, Code} = compile:forms([{attribute, 1, module, 'Elixir.Shop.Stock'}]),
    {module, Other} = code:load_binary(Other, "stock", Code),
    _ = [Module:Name(I) || I <- lists:seq(1, list_to_integer(N)), Name <- ['add!', total]],
    _ = erlang:phash2(1),
    vm:done("added", []).

%% One process that works for 100 ms, among others that do nothing.
busy(_) ->
    vm:enabled(),
    {Pid, Ref} = spawn_monitor(fun() -> work(erlang:monotonic_time(millisecond) + 100), timer:sleep(1), exit(nap_is_over) end),
    receive {'DOWN', Ref, _, _, nap_is_over} -> ok end,
    vm:done("~p worked", [Pid]).

work(Until) ->
    case erlang:monotonic_time(millisecond) >= Until of
        true -> ok;
        false -> work(Until)
    end.

%% Five bytes N times through a port, and through a socket.
traffic([N]) ->
    {ok, Listener} = gen_tcp:listen(0, [binary, {active, false}, {ip, {127, 0, 0, 1}}]),
    {ok, Port} = inet:port(Listener),
    vm:enabled(),
    {ok, Socket} = gen_tcp:connect({127, 0, 0, 1}, Port, [binary, {active, false}]),
    Cat = open_port({spawn, "cat"}, [binary]),
    [begin ok = gen_tcp:send(Socket, "hello"), port_command(Cat, <<"hello">>) end || _ <- lists:seq(1, list_to_integer(N))],
    vm:done("~p ~b sent", [Cat, Port]).
