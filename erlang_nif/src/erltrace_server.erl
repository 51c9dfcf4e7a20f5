%% @doc The owner of a port to pydtrace; see {@link erltrace}. src/pydtrace/erltrace_port/port.py
%% has the protocol.
%%
%% It passes on commands by call/2, credit, answers, and the messages of the stream to one process.
%% A command waits for pydtrace only. The server ends with its client, with its port, and with its
%% supervisor. Its end closes the port, which ends pydtrace.
-module(erltrace_server).

-behaviour(gen_server).

-export([start/1, start_link/2, stop/1, call/2, go/1, credit/2, vocabulary/0]).
-export([init/1, handle_call/3, handle_cast/2, handle_info/2, terminate/2]).

-record(state, {port :: port(),
                client :: pid(),
                arguments :: [binary()],
                cluster = none :: none | {erltrace_cluster:wanted(), erltrace_cluster:cluster()},
                waiting = #{} :: #{pos_integer() => gen_server:from()},
                next = 1 :: pos_integer()}).

-spec start(erltrace:options()) -> {ok, pid()} | erltrace:error().
start(Options) ->
    case erltrace_options:check_options(handle, Options) of
        {ok, Settings} -> gen_server:start(?MODULE, {Settings, none}, []);
        Error -> Error
    end.

-spec start_link(binary(), erltrace:options()) -> {ok, pid()} | {error, term()}.
start_link(Script, Options) ->
    case erltrace_options:check_options(stream, Options) of
        {ok, Settings} -> gen_server:start_link(?MODULE, {Settings, Script}, []);
        Error -> Error
    end.

-spec stop(pid()) -> ok.
stop(Server) ->
    try gen_server:stop(Server)
    catch exit:_ -> ok
    end.

%% @doc pydtrace's answer to a command.
-spec call(pid(), term()) -> term().
call(Server, Command) ->
    try gen_server:call(Server, Command, infinity)
    catch exit:{Reason, {gen_server, call, _}} -> make_failure("the tracing has ended: ~0p", [Reason])
    end.

%% @doc The same of `go'. Then the emulators' probes are set, too.
-spec go(pid()) -> term().
go(Server) ->
    case call(Server, go) of
        ok -> set_probes(call(Server, nodes));
        Error -> Error
    end.

set_probes(Nodes) when is_list(Nodes) -> erltrace_cluster:set_probes(Nodes);
set_probes(Error) -> Error.

-spec credit(pid(), pos_integer()) -> ok.
credit(Server, Number) when is_integer(Number), Number > 0 ->
    gen_server:cast(Server, {credit, Number}).

%% @doc The atoms that pydtrace sends. There must be no others, so that its terms cannot fill the
%% atom table.
-spec vocabulary() -> [atom()].
vocabulary() ->
    [reply, records, aggregations, over, ok, error, dtrace, no_prog, already_running, exited, stopped,
     probe, printf, printa, drop, lost, count, sum, min, max, avg, stddev, quantize, lquantize, llquantize, percentiles,
     metrics, alert, counter, gauge, histogram, summary, undefined, null, nan, infinity, '-infinity', true, false,
     principal, aggregation, dynamic, speculative, speculation, order, host].

%% ---- gen_server ----

-spec init({erltrace_options:settings(), none | binary()}) -> {ok, #state{}} | {stop, term()}.
init({#{options := Options} = Settings, Script}) ->
    State = open_port_program(Settings),
    try
        [require_ok(ask_program(State, {setopt, Name, Value})) || {Name, Value} <- Options],
        require_ok(ask_program(State, watch)),
        start_stream(State, Script, Settings),
        {ok, State}
    catch throw:{failed, Reason} ->
        close_port(State),
        {stop, Reason}
    end.

open_port_program(#{pydtrace := Program, to := Client, arguments := Arguments} = Settings) ->
    _ = erlang:monitor(process, Client),
    {Cluster, Asked} = start_cluster(Settings),
    Port = open_port({spawn_executable, Program}, [{args, ["--erlang-port"]}, {packet, 4}, binary, exit_status]),
    Start = maps:with([pids, command, buffer, strict, metrics, alerts], Settings),
    send_term(Port, {start, Start#{target => list_to_integer(os:getpid()), cluster => Asked}}),
    #state{port = Port, client = Client, arguments = Arguments, cluster = Cluster}.

%% For the tracing of nodes: the connections to them, whose number pydtrace gets.
start_cluster(#{nodes := none}) ->
    {none, none};
start_cluster(#{nodes := Wanted}) ->
    _ = net_kernel:monitor_nodes(true),
    {Cluster, Socket} = erltrace_cluster:start(Wanted),
    {{Wanted, Cluster}, {Socket, erltrace_cluster:members(Wanted)}}.

start_stream(_State, none, _Settings) ->
    ok;
start_stream(#state{port = Port, arguments = Arguments} = State, Script, Settings) ->
    #{interval := Interval, batch := Batch, credits := Credits} = Settings,
    require_ok(ask_program(State, {compile, Script, Arguments})),
    require_ok(ask_program(State, go)),
    ok = erltrace_cluster:set_probes(traced_nodes(State)),
    send_term(Port, {stream, Interval, Batch}),
    send_term(Port, {credit, Credits}).

%% While it starts, and there is nothing else to answer. `ok', or the error.
ask_program(#state{port = Port}, Command) ->
    send_term(Port, {0, Command}),
    receive
        {Port, {data, Data}} -> {reply, 0, Answer} = binary_to_term(Data, [safe]), Answer;
        {Port, {exit_status, Status}} -> {error, {pydtrace, Status}}
    end.

require_ok(ok) -> ok;
require_ok({error, Reason}) -> throw({failed, Reason}).

traced_nodes(#state{cluster = none}) -> [node()];
traced_nodes(#state{cluster = {Wanted, _}}) -> erltrace_cluster:wanted_nodes(Wanted).

-spec handle_call(term(), gen_server:from(), #state{}) -> {noreply, #state{}} | {reply, [node()], #state{}}.
handle_call(nodes, _From, State) ->
    {reply, traced_nodes(State), State};
handle_call({compile, Script}, From, #state{arguments = Arguments} = State) ->
    handle_call({compile, Script, Arguments}, From, State);
handle_call(Command, From, #state{port = Port, waiting = Waiting, next = Next} = State) ->
    send_term(Port, {Next, Command}),
    {noreply, State#state{waiting = Waiting#{Next => From}, next = Next + 1}}.

-spec handle_cast({credit, pos_integer()}, #state{}) -> {noreply, #state{}}.
handle_cast({credit, _} = Credit, #state{port = Port} = State) ->
    send_term(Port, Credit),
    {noreply, State}.

-spec handle_info(term(), #state{}) -> {noreply, #state{}} | {stop, term(), #state{}}.
handle_info({Port, {data, Data}}, #state{port = Port} = State) ->
    handle_term(binary_to_term(Data, [safe]), State);
handle_info({Port, {exit_status, Status}}, #state{port = Port} = State) ->
    {stop, {pydtrace, Status}, State};
handle_info({nodeup, _}, #state{port = Port, cluster = {Wanted, _}} = State) ->
    send_term(Port, {nodes, erltrace_cluster:members(Wanted)}),
    {noreply, State};
handle_info({'DOWN', _, process, Client, _}, #state{client = Client} = State) ->
    {stop, normal, State};
handle_info(_Other, State) ->
    {noreply, State}.

handle_term({reply, Number, Answer}, #state{waiting = Waiting} = State) ->
    {From, Rest} = maps:take(Number, Waiting),
    gen_server:reply(From, Answer),
    {noreply, State#state{waiting = Rest}};
handle_term({records, Items, 0}, State) ->
    send_to_client({records, Items}, State);
handle_term({records, Items, Lost}, State) ->
    send_to_client({records, Items ++ [{lost, Lost}]}, State);
handle_term({over, _, _} = Over, State) ->
    {noreply, Last} = send_to_client(Over, State),
    {stop, normal, Last};
handle_term({_Kind, _} = Message, State) -> % aggregations, metrics, alert
    send_to_client(Message, State).

send_to_client(What, #state{client = Client} = State) ->
    Client ! {erltrace, self(), What},
    {noreply, State}.

-spec terminate(term(), #state{}) -> ok.
terminate(_Reason, State) ->
    close_port(State).

%% ---- the port ----

%% A closed port has reported that already, or will.
send_term(Port, Term) ->
    try port_command(Port, term_to_binary(Term)) of
        true -> ok
    catch error:badarg -> ok
    end.

close_port(#state{cluster = {_, Cluster}} = State) ->
    close_port(State#state{cluster = none}),
    erltrace_cluster:stop(Cluster);
close_port(#state{port = Port}) ->
    try port_close(Port) of
        true -> ok
    catch error:badarg -> ok
    end.

make_failure(Format, Arguments) ->
    {error, {dtrace, lists:flatten(io_lib:format(Format, Arguments))}}.
