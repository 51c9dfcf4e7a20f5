%% @doc How one tracing reaches the nodes of a cluster; see {@link erltrace:cluster/2}.
%%
%% pydtrace connects to a socket that only this user can open, once for each node, and names the
%% node. Erlang's distribution carries the bytes to and from a `pydtrace --serve' there.
%%
%% Nothing remains on a node: what runs there ends with the connection, with this node, and with the
%% connection of the nodes.
-module(erltrace_cluster).

-include_lib("kernel/include/file.hrl").

-export([start/1, stop/1, members/1, wanted_nodes/1, set_probes/1, serve/1]).

-export_type([cluster/0, wanted/0]).

-type wanted() :: visible | [node()].
-type cluster() :: {pid(), Folder :: file:filename()}.

-define(WAIT, 10000). % ms that a node may take to answer
-define(TRIES, 10).

%% @doc A process that listens, linked to the caller, and the address.
-spec start(wanted()) -> {cluster(), Socket :: binary()}.
start(Wanted) ->
    Folder = make_folder(?TRIES),
    remove_stale(Folder),
    Path = filename:join(Folder, "socket"),
    {ok, Listener} = gen_tcp:listen(0, [binary, {ifaddr, {local, Path}}, {active, false}, {packet, line}]),
    Pid = spawn_link(fun() -> accept_connections(Listener, Wanted) end),
    ok = gen_tcp:controlling_process(Listener, Pid),
    {{Pid, Folder}, unicode:characters_to_binary(Path)}.

%% Every user may make files in /tmp, so its name cannot be guessed, and an existing file is left
%% alone.
make_folder(Tries) ->
    Folder = lists:flatten(io_lib:format("/tmp/pyusdt-cluster-~s-~.36b", [os:getpid(), rand:uniform(1 bsl 64)])),
    case file:make_dir(Folder) of
        ok ->
            ok = file:change_mode(Folder, 8#700),
            Folder;
        {error, eexist} when Tries > 1 ->
            make_folder(Tries - 1)
    end.

%% Folders that killed nodes have left: folders of this user that no other user can change, without
%% a listener.
remove_stale(Own) ->
    {ok, #file_info{uid = Uid}} = file:read_link_info(Own),
    _ = [file:del_dir_r(Folder) || Folder <- filelib:wildcard("/tmp/pyusdt-cluster-*"), Folder =/= Own, is_stale(Folder, Uid)],
    ok.

is_stale(Folder, Uid) ->
    case file:read_link_info(Folder) of
        {ok, #file_info{type = directory, uid = Uid, mode = Mode}} when Mode band 8#777 =:= 8#700 ->
            case gen_tcp:connect({local, filename:join(Folder, "socket")}, 0, []) of
                {ok, Socket} -> gen_tcp:close(Socket), false;
                {error, Why} -> Why =:= econnrefused
            end;
        _ -> false
    end.

-spec stop(cluster()) -> ok.
stop({Pid, Folder}) ->
    unlink(Pid),
    exit(Pid, kill),
    _ = file:del_dir_r(Folder),
    ok.

%% @doc The nodes that are there and wanted, with their operating system processes. Those that do not answer are left out.
-spec members(wanted()) -> [{binary(), pos_integer()}].
members(Wanted) ->
    There = wanted_nodes(Wanted),
    Answers = lists:zip(There, erpc:multicall(There, os, getpid, [], ?WAIT)),
    [{atom_to_binary(Node), list_to_integer(Pid)} || {Node, {ok, Pid}} <- Answers].

%% @doc The nodes that are there and wanted.
-spec wanted_nodes(wanted()) -> [node()].
wanted_nodes(Wanted) ->
    [Node || Node <- [node() | nodes()], is_wanted(Node, Wanted)].

%% @doc The emulators of these nodes trace what tracers want now. A node without the application or an answer is left out.
-spec set_probes([node()]) -> ok.
set_probes(Nodes) ->
    _ = erpc:multicall(Nodes, pyusdt_vm_server, apply_demand, [], ?WAIT),
    ok.

is_wanted(_Node, visible) -> true;
is_wanted(Node, Nodes) -> lists:member(Node, Nodes).

%% ---- here ----

accept_connections(Listener, Wanted) ->
    case gen_tcp:accept(Listener) of
        {ok, Socket} ->
            Pid = spawn_link(fun() -> receive go -> handle_connection(Socket, Wanted) end end),
            ok = gen_tcp:controlling_process(Socket, Pid),
            Pid ! go,
            accept_connections(Listener, Wanted);
        {error, _} ->
            ok
    end.

handle_connection(Socket, Wanted) ->
    case gen_tcp:recv(Socket, 0) of
        {ok, Line} -> connect_node(Socket, Wanted, string:trim(Line));
        {error, _} -> gen_tcp:close(Socket) % the client has closed the connection
    end.

connect_node(Socket, Wanted, Name) ->
    Found = [Node || Node <- wanted_nodes(Wanted), atom_to_binary(Node) =:= Name],
    try [erpc:call(Node, ?MODULE, serve, [self()], ?WAIT) || Node <- Found] of
        [Server] ->
            _ = erlang:monitor(process, Server),
            _ = inet:setopts(Socket, [{packet, raw}]),
            relay_next(Socket, Server);
        [] ->
            gen_tcp:close(Socket)
    catch _:_ -> % it has ended, or has no such module
        gen_tcp:close(Socket)
    end.

relay_next(Socket, Server) ->
    case inet:setopts(Socket, [{active, once}]) of
        ok -> relay_bytes(Socket, Server);
        {error, _} -> gen_tcp:close(Socket)
    end.

relay_bytes(Socket, Server) ->
    receive
        {tcp, Socket, Data} ->
            Server ! {self(), Data},
            relay_next(Socket, Server);
        {Server, Data} ->
            case gen_tcp:send(Socket, Data) of
                ok -> relay_bytes(Socket, Server);
                {error, _} -> ok
            end;
        {tcp_closed, Socket} -> ok;
        {tcp_error, Socket, _} -> ok;
        {'DOWN', _, process, Server, _} -> gen_tcp:close(Socket)
    end.

%% ---- on a node ----

%% @doc A process with a `pydtrace --serve', for a process elsewhere, with which it ends.
-spec serve(pid()) -> pid().
serve(Client) ->
    {ok, #{pydtrace := Program}} = erltrace_options:check_options(handle, #{}),
    spawn(fun() ->
        _ = erlang:monitor(process, Client),
        Port = open_port({spawn_executable, Program}, [{args, ["--serve"]}, stream, binary, exit_status]),
        relay_port(Port, Client)
    end).

relay_port(Port, Client) ->
    receive
        {Port, {data, Data}} -> Client ! {self(), Data}, relay_port(Port, Client);
        {Client, Data} ->
            try port_command(Port, Data) of
                true -> relay_port(Port, Client)
            catch error:badarg -> ok % it has ended; no process of this node sees the crash
            end;
        {Port, {exit_status, _}} -> ok;
        {'DOWN', _, process, Client, _} -> ok
    end.
