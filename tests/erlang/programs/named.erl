%% A server with a name, workers of a supervisor without one, and a process that gets its name later, send messages to each other.
-module(named).
-behaviour(gen_server).

-export([run/1, start_worker/0]).
-export([init/1, handle_call/3, handle_cast/2, handle_info/2]).

run([Seconds]) ->
    {ok, _} = gen_server:start({local, shop}, ?MODULE, [], []),
    {ok, _} = supervisor:start_link({local, shop_sup}, ?MODULE, workers),
    _ = spawn(fun() -> timer:sleep(1000), register(late, self()), ask_forever() end),
    _ = spawn(timer, sleep, [1500]),
    ok = pyusdt_vm:enable(#{unsafe => true}),
    timer:sleep(list_to_integer(Seconds) * 1000),
    halt().

ask_forever() -> _ = gen_server:call(shop, {now, self()}), timer:sleep(10), ask_forever().

start_worker() -> gen_server:start_link(?MODULE, worker, []).

init(workers) ->
    Worker = #{start => {?MODULE, start_worker, []}},
    {ok, {#{}, [Worker#{id => N} || N <- [1, 2, 3]]}};
init(worker) ->
    _ = erlang:send_after(10, self(), ask),
    {ok, worker};
init([]) ->
    {ok, server}.

handle_call({now, _}, _From, State) -> {reply, ok, State}.

handle_cast(_, State) -> {noreply, State}.

handle_info(ask, State) ->
    _ = gen_server:call(whereis(shop), {now, self()}),
    _ = erlang:send_after(10, self(), ask),
    {noreply, State}.
