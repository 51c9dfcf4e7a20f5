%% A gen_server under a supervisor, and sockets, whose calls the workload counts itself; for the probes that OTP has not.
%%
%% erl -run served FUNCTION N: waits until a tracer has what it wants, does it N times, prints what the tests compare.
-module(served).

-behaviour(gen_server).

-export([serves/1, restarts/1, loads/1, connects/1, sockets/1]).
-export([init/1, handle_call/3, handle_cast/2, handle_info/2]).

init(supervisor) -> {ok, {#{intensity => 1000}, [#{id => clerk, start => {gen_server, start_link, [{local, clerk}, ?MODULE, clerk, []]}}]}};
init(clerk) -> {ok, none}.

%% The first call is slow, so that the second one waits.
handle_call(slowly, _From, State) -> timer:sleep(50), {reply, done, State};
handle_call(_, _From, State) -> {reply, done, State}.

handle_cast(stop, State) -> {stop, enough, State};
handle_cast(_, State) -> {noreply, State}.

handle_info(_, State) -> {noreply, State}.

started() ->
    logger:set_primary_config(level, none),
    {ok, Supervisor} = supervisor:start_link({local, office}, ?MODULE, supervisor),
    Supervisor.

%% N calls and casts and messages; then one that waits behind a slow one.
serves([N]) ->
    _ = started(),
    vm:enabled(),
    [begin done = gen_server:call(clerk, I), gen_server:cast(clerk, I), clerk ! I end || I <- lists:seq(1, list_to_integer(N))],
    spawn(fun() -> gen_server:call(clerk, slowly) end),
    timer:sleep(10),
    {Waits, Ref} = spawn_monitor(fun() -> done = gen_server:call(clerk, last) end),
    receive {'DOWN', Ref, _, _, normal} -> ok end,
    vm:done("~p ~p served", [self(), Waits]).

restarts([N]) ->
    Supervisor = started(),
    vm:enabled(),
    [begin
         Ref = monitor(process, clerk),
         gen_server:cast(clerk, stop),
         receive {'DOWN', Ref, _, _, _} -> ok end,
         _ = supervisor:which_children(Supervisor)
     end || _ <- lists:seq(1, list_to_integer(N))],
    vm:done("~p restarted", [Supervisor]).

loads([N]) ->
    {ok, made, Binary} = compile:forms([{attribute, 1, module, made}]),
    vm:enabled(),
    [begin code:purge(made), {module, made} = code:load_binary(made, "made", Binary) end || _ <- lists:seq(1, list_to_integer(N))],
    vm:done("loaded ~b", [byte_size(Binary)]).

%% N times five bytes there and three back, by TCP; then two bytes by UDP; and a port where nobody listens.
connects([N]) ->
    {ok, Listener} = gen_tcp:listen(0, [binary, {active, false}, {ip, {127, 0, 0, 1}}]),
    {ok, Port} = inet:port(Listener),
    {ok, Udp} = gen_udp:open(0, [binary, {active, false}, {ip, {127, 0, 0, 1}}]),
    {ok, To} = inet:port(Udp),
    vm:enabled(),
    Me = self(),
    spawn_link(fun() ->
        {ok, Socket} = gen_tcp:connect({127, 0, 0, 1}, Port, [binary, {active, false}]),
        {ok, Mine} = inet:port(Socket),
        Me ! {mine, Mine},
        [begin ok = gen_tcp:send(Socket, "hello"), {ok, <<"yes">>} = gen_tcp:recv(Socket, 3) end || _ <- lists:seq(1, list_to_integer(N))],
        Me ! ended
    end),
    {ok, Accepted} = gen_tcp:accept(Listener),
    timer:sleep(500), % the node looks for peers five times a second
    [begin {ok, <<"hello">>} = gen_tcp:recv(Accepted, 5), ok = gen_tcp:send(Accepted, [<<"y">>, "es"]) end || _ <- lists:seq(1, list_to_integer(N))],
    Mine = receive {mine, There} -> There end,
    receive ended -> ok end,
    ok = gen_udp:send(Udp, {127, 0, 0, 1}, To, <<"hi">>),
    {ok, {_, _, <<"hi">>}} = gen_udp:recv(Udp, 0),
    ok = gen_tcp:close(Listener),
    {error, econnrefused} = gen_tcp:connect({127, 0, 0, 1}, Port, []),
    vm:done("~b ~b ~b connected", [Port, Mine, To]).

sockets([N]) ->
    Local = #{family => inet, addr => {127, 0, 0, 1}, port => 0},
    {ok, Listener} = socket:open(inet, stream),
    ok = socket:bind(Listener, Local),
    ok = socket:listen(Listener),
    {ok, #{port := Port} = There} = socket:sockname(Listener),
    {ok, Udp} = socket:open(inet, dgram),
    ok = socket:bind(Udp, Local),
    {ok, #{port := To} = Self} = socket:sockname(Udp),
    vm:enabled(),
    {ok, Socket} = socket:open(inet, stream),
    ok = socket:connect(Socket, There),
    {ok, Accepted} = socket:accept(Listener),
    [begin ok = socket:send(Socket, <<"hello">>), {ok, <<"hello">>} = socket:recv(Accepted, 5) end || _ <- lists:seq(1, list_to_integer(N))],
    ok = socket:sendto(Udp, <<"hi">>, Self),
    {ok, {_, <<"hi">>}} = socket:recvfrom(Udp),
    vm:done("~b ~b connected", [Port, To]).
