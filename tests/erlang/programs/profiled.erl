%% A server whose callback calls heavy/1 for three quarters of its work, light/1 for the rest; and processes that wait.
-module(profiled).
-behaviour(gen_server).

-export([main/1, deep/1]).
-export([init/1, handle_call/3, handle_cast/2]).

main([Others]) ->
    {ok, Server} = gen_server:start_link({local, shop}, ?MODULE, [], []),
    _ = [spawn(fun() -> receive never -> ok end end) || _ <- lists:seq(1, list_to_integer(Others))],
    _ = spawn(fun() -> feed(Server) end),
    io:format("ready~n").

deep([Depth]) ->
    _ = spawn(fun() -> down(list_to_integer(Depth), lists:seq(1, 100)) end),
    io:format("ready~n").

%% Two functions in turn: the emulator shows the same frame once. It never ends, but the compiler does not know that: calls to what
%% never returns would be tail calls.
down(0, List) ->
    case get(is_over) of
        true -> 0;
        undefined -> _ = lists:foldl(fun(N, Sum) -> N + Sum end, 0, List), down(0, List)
    end;
down(N, List) -> 1 + down_more(N - 1, List).

down_more(N, List) -> 1 + down(max(N - 1, 0), List).

feed(Server) -> _ = gen_server:call(Server, work), feed(Server).

init([]) -> {ok, 0}.

handle_call(work, _From, State) -> {reply, heavy(30000) + light(10000), State}.

handle_cast(_, State) -> {noreply, State}.

heavy(0) -> 0;
heavy(N) -> 1 + heavy(N - 1).

light(0) -> 0;
light(N) -> 1 + light(N - 1).
