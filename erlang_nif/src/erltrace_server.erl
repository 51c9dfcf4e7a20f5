%% @doc The owner of a port to pydtrace; see {@link erltrace}. The protocol is in src/pyusdt/erlang/port.py.
%%
%% In:  commands by call/2; credit; what pydtrace sends.
%% Out: their answers; the stream's messages to one process.
%% Always: it does nothing but pass on; a command waits for nobody but pydtrace; it ends with the process it works for,
%% with its port, and with its supervisor, and its end closes the port, which ends pydtrace.
-module(erltrace_server).

-behaviour(gen_server).

-export([start/1, start_link/2, stop/1, call/2, credit/2, vocabulary/0]).
-export([init/1, handle_call/3, handle_cast/2, handle_info/2, terminate/2]).

-record(state, {port :: port(),
                client :: pid(),
                arguments :: [binary()],
                waiting = #{} :: #{pos_integer() => gen_server:from()},
                next = 1 :: pos_integer()}).

-define(BUFFER, 10000).
-define(CREDITS, 100).
-define(BATCH, 100).
-define(INTERVAL, 1000).

-spec start(erltrace:options()) -> {ok, pid()} | erltrace:error().
start(Options) ->
    gen_server:start(?MODULE, {maps:put(to, self(), Options), none}, []).

-spec start_link(binary(), erltrace:options()) -> {ok, pid()} | {error, term()}.
start_link(Script, Options) ->
    case gen_server:start_link(?MODULE, {Options, Script}, []) of
        {ok, Pid} -> {ok, Pid};
        {error, Reason} -> {error, Reason}
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
    catch exit:{Reason, {gen_server, call, _}} -> failure("the tracing has ended: ~0p", [Reason])
    end.

-spec credit(pid(), pos_integer()) -> ok.
credit(Server, Number) when is_integer(Number), Number > 0 ->
    gen_server:cast(Server, {credit, Number}).

%% @doc The atoms that pydtrace sends; there must be no others, so that a term of its can not fill the atom table.
-spec vocabulary() -> [atom()].
vocabulary() ->
    [reply, records, aggregations, over, ok, error, dtrace, no_prog, already_running, exited, stopped,
     probe, printf, printa, drop, lost, count, sum, min, max, avg, stddev, quantize, lquantize, llquantize,
     principal, aggregation, dynamic, speculative, speculation, order].

%% ---- gen_server ----

-spec init({erltrace:options(), none | binary()}) -> {ok, #state{}} | {stop, term()}.
init({Options, Script}) ->
    case find(Options) of
        false ->
            {stop, {dtrace, "there is no pydtrace on PATH: the environment of the application pyusdt can say where it is "
                            "(pydtrace)"}};
        Program ->
            State = open(Program, Options),
            try
                [checked(ask(State, {setopt, text(Name), text(Value)}))
                 || {Name, Value} <- maps:to_list(maps:get(options, Options, #{}))],
                start_stream(State, Script, Options),
                {ok, State}
            catch throw:{failed, Reason} ->
                close(State),
                {stop, Reason}
            end
    end.

open(Program, Options) ->
    Client = maps:get(to, Options),
    _ = erlang:monitor(process, Client),
    Port = open_port({spawn_executable, Program}, [{args, ["--erlang-port"]}, {packet, 4}, binary, exit_status]),
    Node = list_to_integer(os:getpid()),
    Pids = case maps:get(pids, Options, all) of all -> []; self -> [Node]; List -> List end,
    Command = case maps:get(command, Options, none) of none -> none; Words -> [text(Word) || Word <- Words] end,
    send(Port, {start, #{target => Node, pids => Pids, command => Command, buffer => maps:get(buffer, Options, ?BUFFER)}}),
    #state{port = Port, client = Client, arguments = [text(Each) || Each <- maps:get(arguments, Options, [])]}.

start_stream(_State, none, _Options) ->
    ok;
start_stream(#state{port = Port, arguments = Arguments} = State, Script, Options) ->
    checked(ask(State, {compile, Script, Arguments})),
    checked(ask(State, go)),
    send(Port, {stream, maps:get(interval, Options, ?INTERVAL), maps:get(batch, Options, ?BATCH)}),
    send(Port, {credit, maps:get(credits, Options, ?CREDITS)}).

%% While it starts, when there is nothing else to answer. `ok', or what is wrong.
ask(#state{port = Port}, Command) ->
    send(Port, {0, Command}),
    receive
        {Port, {data, Data}} -> {reply, 0, Answer} = binary_to_term(Data, [safe]), Answer;
        {Port, {exit_status, Status}} -> {error, {pydtrace, Status}}
    end.

checked(ok) -> ok;
checked({error, Reason}) -> throw({failed, Reason}).

-spec handle_call(term(), gen_server:from(), #state{}) -> {noreply, #state{}}.
handle_call({compile, Script}, From, #state{arguments = Arguments} = State) ->
    handle_call({compile, Script, Arguments}, From, State);
handle_call(Command, From, #state{port = Port, waiting = Waiting, next = Next} = State) ->
    send(Port, {Next, Command}),
    {noreply, State#state{waiting = Waiting#{Next => From}, next = Next + 1}}.

-spec handle_cast({credit, pos_integer()}, #state{}) -> {noreply, #state{}}.
handle_cast({credit, _} = Credit, #state{port = Port} = State) ->
    send(Port, Credit),
    {noreply, State}.

-spec handle_info(term(), #state{}) -> {noreply, #state{}} | {stop, term(), #state{}}.
handle_info({Port, {data, Data}}, #state{port = Port} = State) ->
    handle_term(binary_to_term(Data, [safe]), State);
handle_info({Port, {exit_status, Status}}, #state{port = Port} = State) ->
    {stop, {pydtrace, Status}, State};
handle_info({'DOWN', _, process, Client, _}, #state{client = Client} = State) ->
    {stop, normal, State};
handle_info(_Other, State) ->
    {noreply, State}.

handle_term({reply, Number, Answer}, #state{waiting = Waiting} = State) ->
    {From, Rest} = maps:take(Number, Waiting),
    gen_server:reply(From, Answer),
    {noreply, State#state{waiting = Rest}};
handle_term({records, Items, 0}, State) ->
    told({records, Items}, State);
handle_term({records, Items, Lost}, State) ->
    told({records, Items ++ [{lost, Lost}]}, State);
handle_term({over, _, _} = Over, State) ->
    {noreply, Last} = told(Over, State),
    {stop, normal, Last};
handle_term({aggregations, _} = Snapshot, State) ->
    told(Snapshot, State).

told(What, #state{client = Client} = State) ->
    Client ! {erltrace, self(), What},
    {noreply, State}.

-spec terminate(term(), #state{}) -> ok.
terminate(_Reason, State) ->
    close(State).

%% ---- the port ----

%% The application's environment may name it; a name without a folder is looked for on PATH.
find(Options) ->
    Name = maps:get(pydtrace, Options, application:get_env(pyusdt, pydtrace, "pydtrace")),
    os:find_executable(Name).

%% A port that is closed already has told so, or will.
send(Port, Term) ->
    try port_command(Port, term_to_binary(Term)) of
        true -> ok
    catch error:badarg -> ok
    end.

close(#state{port = Port}) ->
    try port_close(Port) of
        true -> ok
    catch error:badarg -> ok
    end.

text(Text) ->
    unicode:characters_to_binary(Text).

failure(Format, Arguments) ->
    {error, {dtrace, lists:flatten(io_lib:format(Format, Arguments))}}.
