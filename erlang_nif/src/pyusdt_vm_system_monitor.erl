%% @doc What the controlling process is told by the emulator, or looks up itself: nodes, busy ports, long pauses, queues.
%%
%% In:  a plan ({@link pyusdt_vm_trace_plan}); messages of the emulator; a look five times a second.
%% Out: events of the probes that are made of them.
%% Always: one process of a node can be told of busy ports and long pauses; where it is another, it stays so.
-module(pyusdt_vm_system_monitor).

-export([nothing/0, change/2, message/1, look/1]).

-export_type([told/0]).

-type told() :: #{nodes := boolean(), monitors := [term()], samples := [atom()], bytes := #{port() => non_neg_integer()},
                  connected := [port()]}.

-spec nothing() -> told().
nothing() ->
    #{nodes => false, monitors => [], samples => [], bytes => #{}, connected => []}.

%% @doc Be told what the plan needs; and sentences about what can not be.
-spec change(pyusdt_vm_trace_plan:plan(), told()) -> {told(), [string()]}.
change(#{nodes := Nodes, monitors := Monitors, samples := Samples}, Told) ->
    _ = up_and_down(Nodes, Told),
    Said = monitors(Monitors, Told),
    {look_up(Told#{nodes => Nodes, monitors => Monitors, samples => Samples}), Said}.

up_and_down(Same, #{nodes := Same}) -> ok;
up_and_down(Wanted, _) -> net_kernel:monitor_nodes(Wanted, [{node_type, all}, nodedown_reason]).

monitors(Same, #{monitors := Same}) ->
    [];
monitors(Events, _) ->
    case erlang:system_monitor() of
        {Pid, _} when Pid =/= self() ->
            ["the probes of busy ports and long pauses stay off: another process is this node's system monitor" || Events =/= []];
        _ ->
            _ = case Events of
                    [] -> erlang:system_monitor(undefined);
                    _ -> erlang:system_monitor(self(), Events)
                end,
            []
    end.

%% ---- messages ----

-spec message(term()) -> ok.
message({Up_or_down, Node, Info}) when Up_or_down =:= nodeup; Up_or_down =:= nodedown ->
    fire('dist-monitor', [node(), Up_or_down, Node, proplists:get_value(node_type, Info),
                          proplists:get_value(nodedown_reason, Info, undefined)]);
message({monitor, Process, busy_port, Port}) ->
    fire('port-busy', [Port]),
    blocked(Process, Port, undefined, undefined);
message({monitor, Process, busy_dist_port, Port}) ->
    fire('dist-port_busy', [node(), Port, node_of(Port), Process]),
    blocked(Process, Port, node(), node_of(Port));
message({monitor, Process, long_gc, Info}) ->
    fire('process-long_gc', [Process, proplists:get_value(timeout, Info)]);
message({monitor, Process, long_schedule, Info}) ->
    fire('process-long_schedule', [Process, proplists:get_value(timeout, Info)]);
message({monitor, Process, large_heap, Info}) ->
    fire('process-large_heap', [Process, lists:sum([proplists:get_value(Size, Info, 0)
                                                    || Size <- [heap_block_size, old_heap_block_size, mbuf_size]])]);
message(_) ->
    ok.

fire(Name, Values) ->
    _ = pyusdt_nif:vm_fire(Name, Values),
    ok.

%% A distribution's port that is a process (TLS) is not kept.
blocked(Process, Port, Here, There) when is_pid(Process), is_port(Port) -> pyusdt_nif:vm_blocked(Process, Port, Here, There);
blocked(_, _, _, _) -> ok.

node_of(Port) ->
    case lists:keyfind(Port, 2, erlang:system_info(dist_ctrl)) of
        {Node, _} -> Node;
        false -> undefined
    end.

%% ---- what is looked up ----

-spec look(told()) -> told().
look(#{samples := Samples} = Told) ->
    case lists:member('scheduler-queue', Samples) of
        true -> queues();
        false -> ok
    end,
    look_up(Told).

look_up(#{samples := Samples, bytes := Bytes, connected := Connected} = Told) ->
    Told#{bytes := begun(Samples, Bytes), connected := connected(Samples -- ['dist-outputv', 'scheduler-queue'], Connected)}.

%% Sockets that were accepted, or open before they were traced: nobody tells where they are connected to.
connected([], _Before) ->
    [];
connected(_, Before) ->
    Ports = erlang:ports(),
    [Port || Port <- Ports -- Before, is_told(Port)] ++ (Before -- (Before -- Ports)).

is_told(Port) ->
    case erlang:port_info(Port, name) =:= {name, "tcp_inet"} andalso prim_inet:peername(Port) of
        {ok, {Ip, Number}} when is_integer(Number) -> pyusdt_nif:vm_peer(Port, Ip, Number) =:= ok;
        _ -> false
    end.

%% The last one is that of the dirty schedulers.
queues() ->
    Lengths = erlang:statistics(run_queue_lengths),
    lists:foreach(fun({Number, Length}) -> fire('scheduler-queue', [Number, Length]) end,
                  lists:zip(lists:seq(1, length(Lengths)), Lengths)).

%% How many bytes went to each node; an event for what it is since the last look.
begun(Samples, Before) ->
    case lists:member('dist-outputv', Samples) of
        true -> maps:from_list([sent(Node, Port, Before) || {Node, Port} <- erlang:system_info(dist_ctrl), is_port(Port)]);
        false -> #{}
    end.

sent(Node, Port, Before) ->
    Bytes = case inet:getstat(Port, [send_oct]) of {ok, [{send_oct, Sent}]} -> Sent; {error, _} -> 0 end,
    case Before of
        #{Port := Then} when Bytes > Then -> fire('dist-outputv', [node(), Port, Node, Bytes - Then]);
        _ -> ok
    end,
    {Port, Bytes}.
