%% See empty_nif.c.
-module(empty_nif).
-export([call/3]).
-nifs([call/3]).
-on_load(on_load/0).

on_load() ->
    erlang:load_nif(filename:rootname(code:which(?MODULE)), 0).

call(_, _, _) ->
    erlang:nif_error(not_loaded).
