%% Fires from several stacks, each with what the program itself says of its stack: the text of each of its functions, then a newline.
-module(stacks).
-export([run/1]).

run(_Arguments) ->
    erlang:system_flag(backtrace_depth, 30),
    [step(Depth) || Depth <- lists:seq(0, 3)],
    fire(9),
    halt().

step(0) ->
    fire(0) + 1;
step(Depth) ->
    1 + step(Depth - 1).

fire(N) ->
    true = dyntrace:p(N, told()), true = pyusdt:pn(7, N, told()),
    N.

told() ->
    {current_stacktrace, [_Told | Stack]} = process_info(self(), current_stacktrace),
    [io_lib:format("~s:~s/~b~s~n", [Module, Function, Arity, place(Location)]) || {Module, Function, Arity, Location} <- Stack].

place([{file, File}, {line, Line}]) -> io_lib:format(" (~s:~b)", [File, Line]);
place([]) -> "".
