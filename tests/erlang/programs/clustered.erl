%% Three nodes, traced from one: erltrace:cluster/2; requests that go through all of them.
-module(clustered).

-export([run/1, fire/1, serve/1]).

fire(Numbers) ->
    [dyntrace:p(Number) || Number <- Numbers],
    ok.

run(_) ->
    {ok, _} = net_kernel:start([list_to_atom(peer:random_name()), shortnames]),
    {_, A} = First = node_of(),
    {_, B} = Second = node_of(),
    Nodes = [node(), A, B],
    [ok = erpc:call(Node, ?MODULE, fire, [[0]]) || Node <- Nodes], % the probes are there
    Script = "erlang$target:::user_trace-i4s4 { @n[host] = count(); @s = sum(arg2); @q = quantize(arg2); @a = avg(arg2); }
              erlang$target:::user_trace-i4s4 /arg2 == 7/ { printf(\"%s 7\", host); } END { @n[\"end\"] = count(); }",
    {ok, H} = erltrace:cluster(visible, Script),
    rounds(H, Nodes, 20),
    requests(Nodes),
    first_calls(Nodes),
    {_, C} = Third = node_of(),
    Counts = until(H, C, #{}, fun() -> erpc:call(C, ?MODULE, fire, [[1]]) end, 500),
    io:format("joined ~p~n", [maps:get(atom_to_list(C), Counts) > 0]),
    stop(Second),
    io:format("gone ~p~n", [gone(H, atom_to_list(B), 500)]),
    ok = erltrace:stop(H),
    {ok, All} = erltrace:snapshot(H),
    io:format("ends ~w~n", [[1 || {count, ["end"], 1} <- proplists:get_value("n", All)]]),
    io:format("folder ~p~n", [length(filelib:wildcard("/tmp/pyusdt-cluster-" ++ os:getpid() ++ "-*"))]),
    ok = erltrace:close(H),
    io:format("folder ~p~n", [filelib:wildcard("/tmp/pyusdt-cluster-" ++ os:getpid() ++ "-*")]),
    [stop(Each) || Each <- [First, Third]],
    wrong(),
    halt().

%% Each request goes from a process of this node to one of each other: a session of all nodes counts its steps by its tag, which goes
%% with the messages in a sequential trace token.
requests(Nodes) ->
    {ok, H} = erltrace:cluster(Nodes, "erlang$target:::user_trace-i4s4 /arg1/ { @[copyinstr(arg1), copyinstr(arg6), host] = count(); }"),
    Servers = [spawn(Node, ?MODULE, serve, ["step " ++ atom_to_list(Node)]) || Node <- tl(Nodes)],
    [request("request " ++ integer_to_list(N rem 3), Servers) || N <- lists:seq(1, 30)],
    Wanted = [{["request " ++ [Digit], Step, atom_to_list(Node)], 10}
              || Digit <- "012", {Step, Node} <- [{"begins", node()} | [{"step " ++ atom_to_list(Node), Node} || Node <- tl(Nodes)]]],
    Found = steps(H, #{}, 10 * length(Wanted), 500),
    io:format("requests ~p~n", [maps:to_list(Found) =:= lists:sort(Wanted) orelse Found]),
    [exit(Server, kill) || Server <- Servers],
    ok = erltrace:close(H).

%% Once cluster/2 returns, the emulator of each node traces.
first_calls(Nodes) ->
    [ok = erpc:call(Node, pyusdt_vm, enable, [#{unsafe => true}]) || Node <- Nodes],
    {ok, H} = erltrace:cluster(Nodes, "erlang$target:string:length:local-function-entry { @[host] = count(); }"),
    [3 = erpc:call(Node, string, length, ["tea"]) || Node <- Nodes],
    ok = erltrace:stop(H),
    {ok, [{"_", Rows}]} = erltrace:snapshot(H),
    io:format("first ~p~n", [lists:sort(Rows) =:= lists:sort([{count, [atom_to_list(Node)], 1} || Node <- Nodes]) orelse Rows]),
    [ok = erpc:call(Node, pyusdt_vm, disable, []) || Node <- Nodes],
    ok = erltrace:close(H).

request(Tag, [First | Rest]) ->
    pyusdt:put_tag(Tag),
    pyusdt:spread_tag(true),
    pyusdt:p("begins"),
    First ! {request, Rest, self()},
    receive done -> pyusdt:put_tag(undefined) end.

serve(Step) ->
    receive {request, Rest, From} ->
        pyusdt:put_tag(pyusdt:get_tag_data()),
        pyusdt:p(Step),
        case Rest of
            [] -> From ! done;
            [Next | Others] -> Next ! {request, Others, From}
        end,
        pyusdt:put_tag(undefined)
    end,
    serve(Step).

steps(_, Found, _, 0) -> Found;
steps(H, Found, Wanted, Tries) ->
    Rows = case erltrace:walk(H) of {ok, Given} -> Given; ok -> [] end,
    More = lists:foldl(fun({count, Keys, N}, Sum) -> maps:update_with(Keys, fun(Old) -> Old + N end, N, Sum) end, Found, Rows),
    case lists:sum(maps:values(More)) >= Wanted of
        true -> More;
        false -> timer:sleep(100), steps(H, More, Wanted, Tries - 1)
    end.

%% What all nodes have fired comes by walks, once, and no more.
rounds(H, Nodes, Count) ->
    Each = lists:seq(1, 10),
    [[ok = erpc:call(Node, ?MODULE, fire, [Each]) || Node <- Nodes] || _ <- lists:seq(1, Count)],
    Counts = walked(H, #{}, fun(Found) -> lists:sum(maps:values(Found)) >= 10 * Count * length(Nodes) end, 500),
    io:format("counts ~w~n", [lists:usort(maps:values(Counts))]),
    io:format("hosts ~p~n", [lists:sort(maps:keys(Counts)) =:= lists:sort([atom_to_list(Node) || Node <- Nodes])]),
    {ok, All} = erltrace:snapshot(H),
    [{sum, [], Sum}] = proplists:get_value("s", All),
    [{avg, [], Average}] = proplists:get_value("a", All),
    [{quantize, [], Buckets}] = proplists:get_value("q", All),
    io:format("sum ~p avg ~p buckets ~w~n", [Sum, Average, Buckets]),
    {ok, Items} = erltrace:consume(H),
    io:format("items ~p~n", [length([7 || {printf, _, Text} <- Items, lists:suffix(" 7", Text)])]).

walked(_, Found, _, 0) -> Found;
walked(H, Found, Is, Tries) ->
    More = case erltrace:walk(H) of
        {ok, Rows} -> lists:foldl(fun({count, [Host], N}, Sum) -> Sum#{Host => maps:get(Host, Sum, 0) + N}; (_, Sum) -> Sum end, Found, Rows);
        ok -> Found
    end,
    case Is(More) of
        true -> More;
        false -> timer:sleep(100), walked(H, More, Is, Tries - 1)
    end.

until(H, Node, Found, Fire, Tries) ->
    walked(H, Found, fun(Now) -> ok = Fire(), maps:is_key(atom_to_list(Node), Now) end, Tries).

gone(_, _, 0) -> false;
gone(H, Name, Tries) ->
    Items = case erltrace:consume(H) of {ok, Given} -> Given; ok -> [] end,
    case [Text || {error, Text} <- Items, lists:prefix(Name ++ " is lost at ", Text)] of
        [_ | _] -> true;
        [] -> timer:sleep(100), gone(H, Name, Tries - 1)
    end.

node_of() ->
    Paths = lists:append([["-pa", filename:dirname(code:which(Module))] || Module <- [?MODULE, pyusdt]]),
    Quiet = ["-kernel", "prevent_overlapping_partitions", "false"], % else who stays tells that one went
    {ok, Peer, Node} = peer:start(#{name => peer:random_name(), args => Quiet ++ Paths}),
    {Peer, Node}.

stop({Peer, _}) -> peer:stop(Peer).

wrong() ->
    [io:format("~s~n", [lists:flatten(Text)]) || {error, {dtrace, Text}} <- [
        erltrace:cluster(all, "BEGIN { }"), erltrace:cluster([], "BEGIN { }"), erltrace:cluster(["a"], "BEGIN { }"),
        erltrace:cluster(visible, "BEGIN { }", #{pids => all}), erltrace:cluster([nowhere@nohost], "BEGIN { }"),
        erltrace:cluster(visible, "BEGIN { x = 1; } user_trace-n1 { trace(x); }")]].
