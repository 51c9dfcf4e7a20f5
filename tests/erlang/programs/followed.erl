%% A tag that a process puts once, on its way through a server, a process that it spawns, one that that one spawns, and a timer; and
%% the server's later work for a process without a tag.
-module(followed).
-behaviour(gen_server).

-export([run/1]).
-export([init/1, handle_call/3, handle_cast/2]).

run([Follow]) ->
    _ = Follow =:= "call" andalso pyusdt:follow_tags(true),
    {ok, Server} = gen_server:start_link(?MODULE, [], []),
    ok = wait_for_tracer(),
    wait(spawn_monitor(fun() -> front(Server) end)),
    wait(spawn_monitor(fun() -> gen_server:call(Server, "untagged call") end)),
    halt().

wait_for_tracer() ->
    case pyusdt:enabled() of true -> ok; false -> timer:sleep(10), wait_for_tracer() end.

wait({Pid, Monitor}) ->
    receive {'DOWN', Monitor, process, Pid, _} -> ok end.

front(Server) ->
    pyusdt:put_tag("order 17"),
    pyusdt:p("front"),
    ok = gen_server:call(Server, "call"),
    gen_server:cast(Server, "cast"),
    wait(spawn_monitor(fun() -> pyusdt:p("spawned"), wait(spawn_monitor(fun() -> pyusdt:p("spawned again") end)) end)),
    _ = erlang:send_after(10, self(), tick),
    receive tick -> pyusdt:p("timer") end,
    ok = gen_server:call(Server, "last call").

init([]) -> {ok, none}.

handle_call(Text, _From, State) -> pyusdt:p(Text), {reply, ok, State}.

handle_cast(Text, State) -> pyusdt:p(Text), {noreply, State}.
