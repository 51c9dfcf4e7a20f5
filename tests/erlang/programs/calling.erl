%% Calls of one function by three others, one of which calls it in tail position.
-module(calling).

-export([run/1, price/1, sell/0, tail/0]).

run([Seconds]) ->
    ok = pyusdt_vm:enable(),
    _ = spawn(fun loop/0),
    timer:sleep(list_to_integer(Seconds) * 1000),
    halt().

loop() ->
    _ = {sell(), tail(), lists:map(fun price/1, [1]), erlang:phash2(a)},
    timer:sleep(10),
    loop().

sell() -> price(2) + 1.

tail() -> price(3).

price(N) -> N.
