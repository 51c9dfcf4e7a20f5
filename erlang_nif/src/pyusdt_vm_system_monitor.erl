%% @doc Probes from system messages and samples: nodes, busy ports, long pauses, queues.
%%
%% A plan ({@link pyusdt_vm_trace_plan}) says what is monitored; samples are taken five times a
%% second, of a few processes each time, so that a node of many costs no more than one of few. Before OTP 28 only one process of a node can get messages about busy ports and long
%% pauses. If it is another tool's, it stays; later ones have trace sessions for that.
-module(pyusdt_vm_system_monitor).

-export([nothing/0, change_plan/2, check/1, handle_message/1, sample/1]).

-export_type([state/0]).

-type state() :: #{nodes := boolean(), monitors := [term()], probes := [atom()], session := term(),
                  samples := [atom()], bytes := #{port() => non_neg_integer()}, connected := [port()],
                  left := [pid()], round := integer(), node := integer()}.
%% probes: those that need the monitors; session: from OTP 28 on, or none; left: processes of this round that are to be sampled;
%% round, node: when the round began, and when the node was sampled, in milliseconds.

-define(SECOND, 1000).     % ms between two samples of a process, or of the node
-define(MOST_AT_ONCE, 200). % processes

-spec nothing() -> state().
nothing() ->
    #{nodes => false, monitors => [], probes => [], session => none, samples => [], bytes => #{}, connected => [],
      left => [], round => now_ms() - ?SECOND, node => now_ms() - ?SECOND}.

%% @doc Monitor what the plan needs; with refusals of everything that is not possible.
-spec change_plan(pyusdt_vm_trace_plan:plan(), state()) -> {state(), [pyusdt_vm_refusals:refusal()]}.
change_plan(#{nodes := Nodes, monitors := Monitors, monitor_probes := Probes, samples := Samples}, State) ->
    _ = monitor_nodes(Nodes, State),
    {Set, Refusals} = set_monitors(State#{probes := Probes}, Monitors),
    {sample_ports(Set#{nodes := Nodes, samples := Samples}), Refusals}.

%% @doc Whether this process is still the node's monitor, once a second: another tool may become it without asking.
-spec check(state()) -> [pyusdt_vm_refusals:refusal()].
check(#{monitors := []}) -> [];
check(#{session := none, monitors := Monitors, probes := Probes}) -> claim_monitor(Monitors, Probes);
check(_) -> [].

monitor_nodes(Same, #{nodes := Same}) -> ok;
monitor_nodes(Wanted, _) -> net_kernel:monitor_nodes(Wanted, [{node_type, all}, nodedown_reason]).

set_monitors(#{monitors := Same} = State, Same) ->
    {State, []};
set_monitors(#{monitors := Before, probes := Probes} = State, Monitors) ->
    case has_sessions() of
        true -> {set_session(State#{monitors := Monitors}), []};
        false -> {State#{monitors := Monitors}, set_monitor(Before, Monitors, Probes)}
    end.

set_monitor(_Before, [], _Probes) ->
    _ = [erlang:system_monitor(undefined) || {Pid, _} <- [erlang:system_monitor()], Pid =:= self()],
    [];
set_monitor(_Before, Monitors, Probes) ->
    claim_monitor(Monitors, Probes).

claim_monitor(Monitors, Probes) ->
    case erlang:system_monitor() of
        {Pid, _} when Pid =/= self() ->
            [{monitor, Probes, format_text("the probes of busy ports and long pauses stay off: another process, ~p, is this node's system "
                                           "monitor, and before OTP 28 a node has one", [name(Pid)])}];
        {_, Monitors} ->
            [];
        _ ->
            _ = erlang:system_monitor(self(), Monitors),
            []
    end.

name(Pid) ->
    case node(Pid) =:= node() andalso erlang:process_info(Pid, registered_name) of
        {registered_name, Name} -> Name;
        _ -> Pid
    end.

format_text(Format, Arguments) ->
    lists:flatten(io_lib:format(Format, Arguments)).

%% ---- OTP 28 and later: sessions, which no other tool's monitor disturbs ----

has_sessions() ->
    list_to_integer(erlang:system_info(otp_release)) >= 28.

set_session(#{session := Before, monitors := Monitors} = State) ->
    _ = Before =:= none orelse call_trace(session_destroy, [Before]),
    State#{session := create_session(Monitors)}.

create_session([]) ->
    none;
create_session(Monitors) ->
    Session = call_trace(session_create, [pyusdt_vm_monitor, self(), []]),
    lists:foreach(fun({Event, Value}) -> call_trace(system, [Session, Event, Value]);
                     (Event) -> call_trace(system, [Session, Event, true])
                  end, Monitors),
    Session.

call_trace(Function, Arguments) ->
    apply(binary_to_existing_atom(<<"trace">>), Function, Arguments).

%% ---- messages ----

-spec handle_message(term()) -> ok.
handle_message({Up_or_down, Node, Info}) when Up_or_down =:= nodeup; Up_or_down =:= nodedown ->
    fire_probe('dist-monitor', [node(), Up_or_down, Node, proplists:get_value(node_type, Info),
                          proplists:get_value(nodedown_reason, Info, undefined)]);
handle_message({monitor, Process, busy_port, Port}) ->
    fire_probe('port-busy', [Port]),
    register_blocked(Process, Port, undefined, undefined);
handle_message({monitor, Process, busy_dist_port, Port}) ->
    fire_probe('dist-port_busy', [node(), Port, find_node(Port), Process]),
    register_blocked(Process, Port, node(), find_node(Port));
handle_message({monitor, Process, long_gc, Info}) ->
    fire_probe('process-long_gc', [Process, proplists:get_value(timeout, Info)]);
handle_message({monitor, Process, long_schedule, Info}) ->
    fire_probe('process-long_schedule', [Process, proplists:get_value(timeout, Info)]);
handle_message({monitor, Process, large_heap, Info}) ->
    fire_probe('process-large_heap', [Process, lists:sum([proplists:get_value(Size, Info, 0)
                                                    || Size <- [heap_block_size, old_heap_block_size, mbuf_size]])]);
handle_message(_) ->
    ok.

fire_probe(Name, Values) ->
    _ = pyusdt_nif:vm_fire(Name, Values),
    ok.

%% A distribution's port that is a process (TLS) is ignored.
register_blocked(Process, Port, Here, There) when is_pid(Process), is_port(Port) -> pyusdt_nif:vm_blocked(Process, Port, Here, There);
register_blocked(_, _, _, _) -> ok.

find_node(Port) ->
    case lists:keyfind(Port, 2, erlang:system_info(dist_ctrl)) of
        {Node, _} -> Node;
        false -> undefined
    end.

%% ---- samples ----

-spec sample(state()) -> state().
sample(#{samples := Samples} = State) ->
    case lists:member('scheduler-queue', Samples) of
        true -> fire_queues();
        false -> ok
    end,
    _ = lists:member('dist-queue', Samples) andalso fire_dist_queues(),
    sample_ports(sample_processes(sample_node(State))).

sample_node(#{samples := Samples, node := Before} = State) ->
    case lists:member('node-sample', Samples) andalso now_ms() - Before >= ?SECOND of
        true -> fire_node(), State#{node := now_ms()};
        false -> State
    end.

fire_node() ->
    Memory = erlang:memory(),
    Of = fun(Kind) -> proplists:get_value(Kind, Memory, 0) end,
    fire_probe('node-sample', [node(), Of(total), Of(processes), Of(binary), Of(ets), erlang:system_info(process_count),
                               erlang:system_info(port_count), erlang:statistics(total_run_queue_lengths)]).

%% A new round begins when the last one is over, a second after its begin at the earliest.
sample_processes(#{samples := Samples, left := Left, round := Began} = State) ->
    case {lists:member('process-sample', Samples), Left} of
        {false, _} -> State#{left := []};
        {true, []} ->
            case now_ms() - Began >= ?SECOND of
                true -> fire_processes(State#{left := processes(), round := now_ms()});
                false -> State
            end;
        {true, _} -> fire_processes(State)
    end.

fire_processes(#{left := Left} = State) ->
    State#{left := fire_next(Left, ?MOST_AT_ONCE)}.

fire_next([Pid | Others], Most) when Most > 0 ->
    fire_process(Pid),
    fire_next(Others, Most - 1);
fire_next(Left, _) ->
    Left.

fire_process(Pid) ->
    case process_info(Pid, [memory, message_queue_len, reductions]) of
        [{_, Memory}, {_, Length}, {_, Reductions}] ->
            fire_probe('process-sample', [Pid, unicode:characters_to_binary(pyusdt_process_name:name(Pid)), Memory, Length, Reductions]);
        undefined ->
            ok
    end.

now_ms() ->
    erlang:monotonic_time(millisecond).

sample_ports(#{samples := Samples, bytes := Bytes, connected := Connected} = State) ->
    State#{bytes := fire_sent_bytes(Samples, Bytes), connected := register_peers(Samples -- ['dist-outputv', 'dist-queue', 'scheduler-queue', 'process-sample', 'node-sample'], Connected)}.

%% Sockets that were accepted, or open before they were traced, have no event that names their peer.
register_peers([], _Before) ->
    [];
register_peers(_, Before) ->
    Ports = erlang:ports(),
    [Port || Port <- Ports -- Before, register_peer(Port)] ++ (Before -- (Before -- Ports)).

register_peer(Port) ->
    case erlang:port_info(Port, name) =:= {name, "tcp_inet"} andalso prim_inet:peername(Port) of
        {ok, {Ip, Number}} when is_integer(Number) -> pyusdt_nif:vm_peer(Port, Ip, Number) =:= ok;
        _ -> false
    end.

%% The last one is that of the dirty schedulers.
fire_queues() ->
    Lengths = erlang:statistics(run_queue_lengths),
    lists:foreach(fun({Number, Length}) -> fire_probe('scheduler-queue', [Number, Length]) end,
                  lists:zip(lists:seq(1, length(Lengths)), Lengths)).

%% The bytes that wait for each node. Processes that send more than the limit are suspended.
fire_dist_queues() ->
    Limit = erlang:system_info(dist_buf_busy_limit),
    lists:foreach(fun({Node, Waiting}) -> fire_probe('dist-queue', [node(), Node, Waiting, Limit]) end, erltrace_dump:dist_queues()).

%% The bytes sent to each node; an event for the difference to the last sample.
fire_sent_bytes(Samples, Before) ->
    case lists:member('dist-outputv', Samples) of
        true -> maps:from_list([fire_sent(Node, Port, Before) || {Node, Port} <- erlang:system_info(dist_ctrl), is_port(Port)]);
        false -> #{}
    end.

fire_sent(Node, Port, Before) ->
    Bytes = case inet:getstat(Port, [send_oct]) of {ok, [{send_oct, Sent}]} -> Sent; {error, _} -> 0 end,
    case Before of
        #{Port := Then} when Bytes > Then -> fire_probe('dist-outputv', [node(), Port, Node, Bytes - Then]);
        _ -> ok
    end,
    {Port, Bytes}.
