#!/usr/bin/env escript
%%! -pa erlang_nif/ebin
%% A probe of one's own, with an argument that is a term.

main(_) ->
    Shop = pyusdt:provider("orders"),
    Placed = pyusdt:probe(Shop, "order-placed", [int, string, term]),
    [pyusdt:fire(Placed, [Number, Name, {Name, #{price => Price, tags => [sold | Tags]}}])
     || {Number, Name, Price, Tags} <- [{1, "apple", 30, []}, {2, "pear", 45, ["new"]}, {3, "apple", 31, []}]].
