%% Work whose spawns, exits, messages, collections and calls it knows itself, for the tests of the emulator's own probes.
%%
%% erl -run vm FUNCTION [N]: waits until a tracer has what it wants, does it N times, prints what the tests compare.
-module(vm).

-export([spawns/1, messages/1, schedules/1, collects/1, calls/1, ports/1, waits/1, signals/1]).
-export([toggles/1, collected_elsewhere/1, far/1, drives/1, sorts/1, tables/1, pauses/1, beside/1]).
-export([huge/1, renames/1, datasyncs/1, files/1, loads/1, controller/1, tsunami/1, drizzle/1, refused/1, cleared/1, shared/1]).
-export([queue/1, keep/0]).
-export([endings/1, entered/1, loop/0, nap/0, stuck/0, sleeps/0, slept/0, enabled/0, done/2]).

%% Options for pyusdt_vm:enable/1, by the environment variable VM_OPTIONS, as an Erlang term.
enabled() ->
    {ok, Tokens, _} = erl_scan:string(os:getenv("VM_OPTIONS", "#{}") ++ "."),
    {ok, Options} = erl_parse:parse_term(Tokens),
    ok = pyusdt_vm:enable(maps:merge(#{unsafe => true}, Options)),
    until_armed(600).

until_armed(0) ->
    io:format("never armed~n"),
    halt(1);
until_armed(N) ->
    case pyusdt_vm:info() of
        #{armed := true} -> ok;
        _ -> timer:sleep(50), until_armed(N - 1)
    end.

%% Waits for what is on its way to be traced, and ends.
done(Format, Values) ->
    timer:sleep(300),
    io:format(Format ++ "~n", Values),
    halt().

number([N]) -> list_to_integer(N).

spawns(N) ->
    enabled(),
    Pids = [spawn_monitor(?MODULE, nap, []) || _ <- lists:seq(1, number(N))],
    [receive {'DOWN', Ref, _, Pid, nap_is_over} -> ok end || {Pid, Ref} <- Pids],
    done("spawned ~b", [length(Pids)]).

nap() -> exit(nap_is_over).

%% To a process that answers; then with a sequential trace token.
messages(N) ->
    Echo = spawn(?MODULE, loop, []),
    enabled(),
    Sent = [begin Echo ! {self(), I, [a, b]}, receive {Echo, I} -> ok end end || I <- lists:seq(1, number(N))],
    seq_trace:set_token(label, 17),
    Echo ! {self(), 0, []},
    receive {Echo, 0} -> ok end,
    seq_trace:set_token([]),
    done("~p ~p sent ~b", [self(), Echo, length(Sent)]).

loop() ->
    receive {From, I, _} -> From ! {self(), I}, ?MODULE:loop() end.

schedules(N) ->
    Pid = spawn(fun() -> receive stop -> ok end end),
    Sleeper = spawn(fun() -> receive hibernate -> erlang:hibernate(?MODULE, loop, []) end end),
    Echo = spawn(?MODULE, loop, []),
    enabled(),
    [begin Echo ! {self(), I, []}, receive {Echo, I} -> ok end end || I <- lists:seq(1, number(N))],
    Sleeper ! hibernate,
    Pid ! stop,
    timer:sleep(100),
    done("~p ~p ~p", [Pid, Sleeper, Echo]).

%% Major ones, in a process that does nothing else; then one that grows.
collects(N) ->
    Pid = spawn(fun() -> receive {From, go} -> [erlang:garbage_collect() || _ <- lists:seq(1, number(N))], From ! done end, loop() end),
    enabled(),
    Pid ! {self(), go},
    receive done -> ok end,
    Big = spawn(fun() -> exit(length(lists:seq(1, 200000))) end),
    timer:sleep(200),
    done("~p ~p", [Pid, Big]).

calls(N) ->
    enabled(),
    [?MODULE:entered(I) || I <- lists:seq(1, number(N))],
    done("~p called ~b", [self(), number(N)]).

entered(I) -> inside(I) + erlang:phash2(I).

inside(I) -> I + 1.

ports(N) ->
    enabled(),
    Port = open_port({spawn, "cat"}, [binary]),
    [begin port_command(Port, <<"hello">>), receive {Port, {data, _}} -> ok end end || _ <- lists:seq(1, number(N))],
    Other = spawn(?MODULE, loop, []),
    port_connect(Port, Other),
    unlink(Port),
    exit(Other, shutdown),
    timer:sleep(200),
    {ok, Socket} = gen_udp:open(0),
    {ok, _} = inet:port(Socket),
    gen_udp:close(Socket),
    done("~p ~p ~p", [self(), Port, Other]).

%% Three times, new code of a module, each called so often.
loads(N) ->
    ok = pyusdt_vm:enable(),
    [begin
         {ok, vm_fresh, Binary} = compile:forms([{attribute, 1, module, vm_fresh}, {attribute, 1, export, [{version, 0}]},
                                       {function, 1, version, 0, [{clause, 1, [], [], [{integer, 1, Version}]}]}]),
         {module, vm_fresh} = code:load_binary(vm_fresh, "vm_fresh", Binary),
         until_armed(600),
         until_traced({vm_fresh, version, 0}, 600),
         [Version = apply(vm_fresh, version, []) || _ <- lists:seq(1, number(N))],
         code:purge(vm_fresh)
     end || Version <- [1, 2, 3]],
    done("loaded", []).

%% From OTP 27 on only who made a trace session sees what it traces, so there it is waited for longer than it takes.
until_traced(MFA, N) when N > 0 ->
    case {code:ensure_loaded(trace), erlang:trace_info(MFA, meta)} of
        {{module, _}, _} -> timer:sleep(10000);
        {_, {meta, false}} -> timer:sleep(50), until_traced(MFA, N - 1);
        _ -> ok
    end.

signals(N) ->
    Pids = [spawn(?MODULE, loop, []) || _ <- lists:seq(1, number(N))],
    enabled(),
    [exit(Pid, bye) || Pid <- Pids],
    done("~p signalled ~b", [self(), length(Pids)]).

%% Until it is killed; says what is traced, each line "flags tracer" of this process and of new ones.
waits(_) ->
    ok = pyusdt_vm:enable(#{unsafe => true, functions => [?MODULE]}),
    io:format("ready~n"),
    say().

say() ->
    #{wanted := Wanted} = pyusdt_vm:info(),
    io:format("~b ~w ~w ~w ~w~n", [length(Wanted), traced(self()), traced(new), traced(erlang:whereis(init)), called({gen_server, call, 2})]),
    ?MODULE:entered(1),
    timer:sleep(100),
    say().

traced(Who) ->
    case code:ensure_loaded(trace) of
        {module, _} -> length(apply(binary_to_existing_atom(<<"trace">>), session_info, [all])) - 1;
        _ -> {flags, Flags} = erlang:trace_info(Who, flags), length(Flags)
    end.

%% Whether calls of it are traced.
called(MFA) ->
    case {code:ensure_loaded(trace), erlang:trace_info(MFA, meta)} of
        {{module, _}, _} -> traced(new);
        {_, {meta, false}} -> 0;
        {_, {meta, _}} -> 1
    end.

%% Another tool traces one process, beside us: how much it saw, whether the process is its own still.
beside([Tool]) ->
    ok = pyusdt_vm:enable(#{unsafe => true}),
    Echo = spawn(?MODULE, loop, []),
    ets:new(seen, [named_table, public]),
    other(Tool, Echo),
    io:format("ready~n"),
    beside(Echo, Tool).

other("dbg", Echo) -> % the messages
    {ok, _} = dbg:tracer(process, {fun(_, N) -> ets:insert(seen, {other, N}), N + 1 end, 1}),
    {ok, _} = dbg:p(Echo, m);
other("recon", Echo) -> % the calls
    Format = fun(_) -> ets:update_counter(seen, other, 1, {other, 0}), "" end,
    1 = recon_trace:calls({?MODULE, loop, '_'}, 1 bsl 20, [{pid, Echo}, {scope, local}, {formatter, Format}]).

beside(Echo, Tool) ->
    Echo ! {self(), 1, []},
    receive {Echo, 1} -> ok end,
    #{wanted := Wanted} = pyusdt_vm:info(),
    Seen = lists:sum([N || {other, N} <- ets:lookup(seen, other)]),
    io:format("~b ~w ~b~n", [length(Wanted), traced(self()), Seen]),
    timer:sleep(100),
    beside(Echo, Tool).

%% ---- limits ----

controller(_) ->
    enabled(),
    io:format("~p~n", [whereis(pyusdt_vm_server)]),
    timer:sleep(1000),
    halt().

tsunami(N) ->
    enabled(),
    spawns(N, 0),
    until_refused().

%% As many, but slowly: each takes some milliseconds.
drizzle(N) ->
    enabled(),
    spawns(N, 5),
    io:format("~0p~n", [maps:with([armed, refused], pyusdt_vm:info())]),
    halt().

spawns(N, Pause) ->
    _ = [begin timer:sleep(Pause), {Pid, Ref} = spawn_monitor(?MODULE, nap, []), receive {'DOWN', Ref, _, Pid, _} -> ok end end
         || _ <- lists:seq(1, number(N))],
    ok.

%% Calls that never return: the process exits in them, is killed in them, sleeps for ever (and is woken for the next); then the node ends
%% while two processes go on with traced calls, one of them on a dirty scheduler.
endings(N) ->
    Sleeper = spawn(?MODULE, sleeps, []),
    enabled(),
    spawns(N, 0),
    _ = [begin
             {Pid, Ref} = spawn_monitor(?MODULE, stuck, []),
             wait(fun() -> process_info(Pid, current_function) =:= {current_function, {?MODULE, stuck, 0}} end),
             exit(Pid, kill),
             receive {'DOWN', Ref, _, Pid, killed} -> ok end
         end || _ <- lists:seq(1, number(N))],
    _ = [begin
             Sleeper ! wake,
             wait(fun() -> process_info(Sleeper, [current_function, message_queue_len]) =:=
                           [{current_function, {erlang, hibernate, 3}}, {message_queue_len, 0}] end)
         end || _ <- lists:seq(1, number(N))],
    _ = [spawn(fun Read() -> {ok, _} = prim_file:read_file(code:which(?MODULE)), Read() end),
         spawn(fun Call() -> entered(1), Call() end)],
    timer:sleep(50),
    done("ended", []).

stuck() -> receive never -> ok end.

sleeps() -> erlang:hibernate(?MODULE, slept, []).

slept() -> receive wake -> sleeps() end.

wait(Holds) ->
    case Holds() of
        true -> ok;
        false -> erlang:yield(), wait(Holds)
    end.

refused(_) ->
    enabled(),
    until_refused().

cleared([How]) ->
    enabled(),
    case code:ensure_loaded(trace) of
        {module, _} -> [trace_module(session_destroy, [Session]) || {pyusdt_vm, _} = Session <- trace_module(session_info, [all])];
        _ -> clear(How)
    end,
    until_refused().

clear("recon") ->
    recon_trace:clear();
clear("dbg") ->
    {ok, _} = dbg:tracer(),
    {ok, _} = dbg:p(all, clear),
    dbg:stop_clear().

trace_module(Function, Arguments) ->
    apply(binary_to_existing_atom(<<"trace">>), Function, Arguments).

%% N times on and off, while others read files, send messages and end. The server has made the probes, and does nothing more.
toggles(N) ->
    Options = #{unsafe => true, functions => [?MODULE], long => 100, large => 10000000},
    enabled(),
    ok = pyusdt_vm:disable(),
    {Plan, _} = pyusdt_vm_trace_plan:plan(pyusdt_vm_trace_plan:offered_probes(Options) -- ['ets-entry', 'ets-return', 'efile_drv-entry', 'efile_drv-return'], [], Options, []),
    process_flag(priority, high),
    _ = [spawn_link(fun Read() -> {ok, _} = prim_file:read_file(code:which(?MODULE)), Read() end) || _ <- lists:seq(1, 2)],
    _ = spawn_link(fun Spawn() -> {Pid, Ref} = spawn_monitor(fun() -> garbage_collect() end), receive {'DOWN', Ref, _, Pid, _} -> Spawn() end end),
    _ = [begin
             {Armed, _} = pyusdt_vm_trace_set:set_plan(Plan, {0, 10000, false}, pyusdt_vm_trace_set:nothing()),
             erlang:yield(),
             pyusdt_vm_trace_set:clear_plan(Armed)
         end || _ <- lists:seq(1, number(N))],
    done("toggled ~b, ~w left", [number(N), traced(new)]).

%% From OTP 27 on: another trace session has the collections of a process.
collected_elsewhere(_) ->
    Session = trace_module(session_create, [other, spawn(?MODULE, loop, []), []]),
    1 = trace_module(process, [Session, self(), true, [garbage_collection]]),
    ok = pyusdt_vm:enable(#{unsafe => true}),
    until_armed(600),
    garbage_collect(),
    timer:sleep(300),
    io:format("~p~n", [maps:get(messages, pyusdt_vm:info())]),
    trace_module(session_destroy, [Session]),
    halt().

until_refused() ->
    case pyusdt_vm:info() of
        #{refused := none} -> timer:sleep(50), until_refused();
        #{refused := Reason} -> io:format("~p~n", [Reason]), halt()
    end.

%% A process and a function that another tracer has.
shared(_) ->
    Traced = spawn(?MODULE, loop, []),
    Tracer = spawn(fun() -> receive stop -> ok end end),
    erlang:trace(Traced, true, [send, {tracer, Tracer}]),
    erlang:trace_pattern({?MODULE, entered, 1}, true, [{meta, Tracer}]),
    os:putenv("VM_OPTIONS", "#{functions => [vm]}"),
    enabled(),
    timer:sleep(500),
    Theirs = {erlang:trace_info(Traced, tracer), erlang:trace_info({?MODULE, entered, 1}, meta)},
    io:format("others are theirs: ~p~n~p~n", [Theirs =:= {{tracer, Tracer}, {meta, Tracer}}, maps:get(messages, pyusdt_vm:info())]),
    halt().

%% ---- another node ----

%% A node that comes and goes, N messages to a process there, by pid and by name, an exit signal; then more than the
%% connection takes at once.
far(N) ->
    {ok, _} = net_kernel:start([list_to_atom(peer:random_name()), shortnames]),
    Args = ["-pa", filename:dirname(code:which(?MODULE))],
    {ok, Peer, There} = peer:start(#{name => peer:random_name(), args => Args}),
    Pid = spawn(There, ?MODULE, loop, []),
    Named = spawn(There, ?MODULE, loop, []),
    true = erpc:call(There, erlang, register, [named, Named]),
    enabled(),
    [begin Pid ! {self(), I, [a, b]}, receive {Pid, I} -> ok end end || I <- lists:seq(1, number(N))],
    {named, There} ! {self(), 0, [a, b]},
    receive {Named, 0} -> ok end,
    exit(Pid, bye),
    Large = binary:copy(<<0>>, 1000000),
    Busy = spawn(fun() -> [{named, There} ! {large, Large} || _ <- lists:seq(1, 30)], erpc:call(There, erlang, node, []), exit(nap_is_over) end),
    Ref = monitor(process, Busy),
    receive {'DOWN', Ref, _, _, nap_is_over} -> ok end,
    {ok, Other, Comes} = peer:start(#{name => peer:random_name()}),
    timer:sleep(300),
    peer:stop(Other),
    timer:sleep(300),
    io:format("~p ~p ~p ~p ~p~n", [self(), Pid, There, Busy, Comes]),
    peer:stop(Peer),
    done("far", []).

%% ---- drivers ----

drives(N) ->
    {ok, Socket} = gen_udp:open(0, [{ip, {127, 0, 0, 1}}]),
    {ok, To} = inet:port(Socket),
    enabled(),
    [ok = gen_udp:send(Socket, {127, 0, 0, 1}, To, "hello") || _ <- lists:seq(1, number(N))],
    Port = open_port({spawn, "sh -c 'sleep 1; cat >/dev/null'"}, [binary]),
    catch erlang:port_call(Port, 7, hello),
    {error, _} = erl_ddll:load_driver("/nowhere", "no_such_driver"),
    {error, _} = erl_ddll:unload_driver("no_such_driver"),
    Large = binary:copy(<<0>>, 1000000),
    [port_command(Port, Large) || _ <- lists:seq(1, 3)],
    done("~p ~p drove", [self(), Port]).

%% ---- functions, NIFs and tables of OTP ----

sorts(N) ->
    enabled(),
    [begin ?MODULE:entered(I), {ok, _} = prim_file:get_cwd() end || I <- lists:seq(1, number(N))],
    done("sorted", []).

tables(N) ->
    T = ets:new(orders, [named_table]),
    enabled(),
    [begin ets:insert(T, {I, I}), [_] = ets:lookup(T, I) end || I <- lists:seq(1, number(N))],
    catch ets:lookup(no_such_table, 1),
    done("~p stored", [self()]).

%% A heap so large that collecting it takes long, and a product during which nothing else runs.
pauses(_) ->
    enabled(),
    Pid = spawn(fun() -> L = lists:seq(1, 3000000), garbage_collect(), exit({nap_is_over, hd(L), square(30000)}) end),
    Ref = monitor(process, Pid),
    receive {'DOWN', Ref, _, _, {nap_is_over, 1, _}} -> ok end,
    done("~p paused", [Pid]).

%% A queue that is sampled, and a process without a name.
queue(_) ->
    register(keeper, spawn(?MODULE, keep, [])),
    spawn(?MODULE, keep, []),
    [keeper ! N || N <- lists:seq(1, 500)],
    enabled(),
    timer:sleep(2500),
    done("~p queued", [self()]).

keep() ->
    receive never -> ok end.

%% The last run of a process is not measured.
square(Bytes) ->
    Bits = 8 * Bytes,
    <<Number:Bits>> = rand:bytes(Bytes),
    Rest = Number * Number rem 7,
    timer:sleep(1),
    Rest.

%% ---- terms of any size ----

%% Processes that end with them, and messages of them: how many milliseconds the slowest took.
huge(_) ->
    enabled(),
    Echo = spawn(fun Again() -> receive {From, _} -> From ! done, Again() end end),
    Terms = [1 bsl 3000000, binary:copy(<<"a">>, 50000000), <<1:1, (binary:copy(<<"a">>, 100000))/binary>>, lists:duplicate(300000, $a),
             lists:foldl(fun(_, Inner) -> {Inner} end, [], lists:seq(1, 100000)), maps:from_list([{I, I} || I <- lists:seq(1, 100000)]),
             list_to_tuple(lists:seq(1, 100000)), [a | b], [{1.5, <<"b\n">>, 'it is', -1, "text"}]],
    Took = [begin
                {Pid, Ref} = spawn_monitor(fun() -> receive go -> exit(Term) end end),
                {Microseconds, _} = timer:tc(fun() ->
                    Pid ! go, receive {'DOWN', Ref, _, _, _} -> ok end,
                    Echo ! {self(), Term}, receive done -> ok end
                end),
                Microseconds div 1000
            end || Term <- Terms],
    done("slowest ~b ms", [lists:max(Took)]).

%% ---- files ----

%% As OTP's chapter on DTRACE has it: by OTP's file server, with a tag.
renames(_) ->
    enabled(),
    dyntrace:put_tag("some-user-tag"),
    {error, enoent} = file:rename("old-name", "new-name"),
    dyntrace:put_tag(undefined),
    {error, enoent} = prim_file:rename("old-name", "new-name"),
    done("renamed", []).

datasyncs(N) ->
    enabled(),
    Name = filename:join(os:getenv("VM_FOLDER"), "synced"),
    {ok, File} = file:open(Name, [raw, write]),
    [ok = file:datasync(File) || _ <- lists:seq(1, number(N))],
    done("synced", []).

%% A rename that fails, N files written, read and deleted.
files(N) ->
    enabled(),
    {error, enoent} = file:rename("old-name", "new-name"),
    Folder = os:getenv("VM_FOLDER"),
    [begin
         Name = filename:join(Folder, "file" ++ integer_to_list(I)),
         {ok, File} = file:open(Name, [raw, binary, write, read]),
         ok = file:write(File, <<"hello">>),
         {ok, <<"ell">>} = file:pread(File, 1, 3),
         ok = file:datasync(File),
         ok = file:close(File),
         ok = file:delete(Name)
     end || I <- lists:seq(1, number(N))],
    done("files done", []).
