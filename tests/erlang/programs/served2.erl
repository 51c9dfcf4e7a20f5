%% A server of RabbitMQ's gen_server2, and one of gen_statem, with a caller: erl -run served2 serves N, with rabbit_common in the path.
-module(served2).

-export([serves/1, init/1, callback_mode/0, handle_call/3, handle_cast/2, handle_info/2, terminate/2, code_change/3, handle_event/4]).

serves([N]) ->
    ok = pyusdt_vm:enable(#{unsafe => true}),
    {ok, Store} = gen_server2:start_link({local, store}, ?MODULE, server, []),
    {ok, Door} = gen_statem:start_link({local, door}, ?MODULE, machine, []),
    (fun Wait() -> case pyusdt_vm:info() of #{armed := true} -> ok; _ -> timer:sleep(10), Wait() end end)(),
    [begin
         ok = gen_server2:call(store, get),
         ok = gen_server2:call(Store, get, 5000),
         ok = gen_server2:cast(store, put),
         Store ! tick,
         ok = gen_statem:call(door, push),
         ok = gen_statem:call(Door, push, 5000),
         ok = gen_statem:cast(door, push)
     end || _ <- lists:seq(1, list_to_integer(N))],
    timer:sleep(500),
    halt().

init(server) -> {ok, state};
init(machine) -> {ok, shut, none}.

callback_mode() -> handle_event_function.

handle_call(get, _, State) -> timer:sleep(2), {reply, ok, State}.
handle_cast(_, State) -> {noreply, State}.
handle_info(_, State) -> {noreply, State}.
terminate(_, _) -> ok.
code_change(_, State, _) -> {ok, State}.

handle_event({call, From}, push, _, _) -> {keep_state_and_data, [{reply, From, ok}]};
handle_event(cast, push, _, _) -> keep_state_and_data.
