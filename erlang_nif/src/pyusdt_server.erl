%% @private
%% The start, stop and information of the processes that the application runs at most once in a node, under their module's name.
-module(pyusdt_server).

-export([start/2, start_link/2, stop/1, info/1]).

-spec start(module(), term()) -> {ok, pid()} | {error, term()}.
start(Module, Options) ->
    gen_server:start({local, Module}, Module, Options, []).

-spec start_link(module(), term()) -> {ok, pid()} | {error, term()}.
start_link(Module, Options) ->
    gen_server:start_link({local, Module}, Module, Options, []).

-spec stop(module()) -> ok.
stop(Module) ->
    try gen_server:stop(Module)
    catch exit:noproc -> ok
    end.

%% @doc The server's answer to `info', or that it does not run.
-spec info(module()) -> term() | {error, disabled}.
info(Module) ->
    try gen_server:call(Module, info, infinity)
    catch exit:{noproc, _} -> {error, disabled}
    end.
