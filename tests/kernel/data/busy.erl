%% An Erlang process that is busy for ever: start -> outer -> inner -> leaf.
-module(busy).
-export([start/0]).

start() ->
    io:format("ready~n"),
    outer(0).

outer(N) ->
    inner(N, 100),
    outer(N + 1).

inner(_, 0) ->
    done;
inner(N, K) ->
    leaf(N, K),
    inner(N, K - 1),
    ok.

leaf(N, K) ->
    erlang:phash2({N, K}),
    lists:sum([N, K]).
