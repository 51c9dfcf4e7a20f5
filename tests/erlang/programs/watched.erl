%% Functions for erltrace:watch/2.
-module(watched).

-export([price/2, loop/1, sells/0, spins/0]).

price(tea, _) -> exit(no_tea);
price(Item, N) -> timer:sleep(N), {Item, #{n => N, password => "x"}}.

sells() ->
    _ = [try price(Item, N) catch exit:no_tea -> ok end || {Item, N} <- [{tea, 1}, {cake, 2}, {lists:seq(1, 5000), 30}]],
    sells().

loop(0) -> ok;
loop(N) -> loop(N - 1).

spins() ->
    loop(100000),
    spins().
