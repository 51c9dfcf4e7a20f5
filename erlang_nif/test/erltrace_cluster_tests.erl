%% Connections of a cluster that send nothing, or name no node; without a node.
-module(erltrace_cluster_tests).

-include_lib("eunit/include/eunit.hrl").

connections_test() ->
    {{Pid, Folder} = Cluster, Path} = erltrace_cluster:start(visible),
    {ok, Silent} = gen_tcp:connect({local, Path}, 0, [local]),
    ok = gen_tcp:close(Silent),
    {ok, Wrong} = gen_tcp:connect({local, Path}, 0, [local, {active, false}]),
    ok = gen_tcp:send(Wrong, "nobody@nowhere\n"),
    ?assertEqual({error, closed}, gen_tcp:recv(Wrong, 0, 5000)),
    ?assert(is_process_alive(Pid)),
    ok = erltrace_cluster:stop(Cluster),
    ?assertNot(filelib:is_dir(Folder)).
