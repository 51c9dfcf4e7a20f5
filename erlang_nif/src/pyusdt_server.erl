%% @private
%% The start, stop and information of the processes that the application runs at most once in a node, under their module's name.
-module(pyusdt_server).

-export([start/2, start_link/2, stop/1, info/1, leave_remote_leader/0, log_warning/2]).

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

%% @doc The calling process was started from another node (rpc, a remote shell), and stays when that node ends: what it logs
%% and prints belongs to this node.
-spec leave_remote_leader() -> ok.
leave_remote_leader() ->
    case node(group_leader()) =:= node() of
        true -> ok;
        false -> true = group_leader(whereis(init), self()), ok
    end.

%% @doc To this node's log, also if another node asked: the filter remote_gl of a handler stops what comes from a remote shell.
-spec log_warning(io:format(), [term()]) -> ok.
log_warning(Format, Arguments) ->
    logger:warning(Format, Arguments, #{gl => whereis(init)}).
