%% The plans for probes. tests/erlang/test_erlang_vm.py has the tests with tracers.
-module(pyusdt_vm_tests).

-include_lib("eunit/include/eunit.hrl").

-export([server/1, sum/2, first/1, second/1, product/1, remote/1, none/1]).

plan(Probes) ->
    {Plan, []} = pyusdt_vm_trace_plan:plan(Probes, [], #{functions => [], long => 100, large => 10000000}, []),
    Plan.

%% Every offered probe comes from a flag, a pattern, or a message to the controlling process.
%% But those of functions, which a plan has only with their names, and process-name, whose names the server reads.
every_probe_has_a_source_test() ->
    Nothing = pyusdt_vm_trace_plan:nothing(),
    Without = ['process-name', 'local-function-entry', 'function-return', 'bif-entry', 'bif-return', 'nif-entry', 'nif-return'],
    ?assertEqual(Without, [Probe || Probe <- pyusdt_vm_trace_plan:offered_probes(#{unsafe => true}), plan([Probe]) =:= Nothing]).

the_fewest_flags_test() ->
    ?assertMatch(#{flags := [{processes, procs}], patterns := P} when map_size(P) =:= 0,
                 plan(['process-spawn', 'process-exit'])),
    ?assertMatch(#{flags := []}, plan(['local-function-entry', 'process-exit_signal', 'dist-monitor'])),
    ?assertMatch(#{flags := [{ports, ports}]}, plan(['port-open'])).

%% The compiler is loaded here, which takes a busy machine longer than the 5 s of EUnit.
other_code_is_noticed_test_() ->
    {timeout, 60, fun other_code_is_noticed/0}.

other_code_is_noticed() ->
    Before = pyusdt_vm_trace_plan:code_hash(),
    ?assertEqual(Before, pyusdt_vm_trace_plan:code_hash()),
    {ok, fresh, Binary} = compile:forms([{attribute, 1, module, fresh}]),
    {module, fresh} = code:load_binary(fresh, "fresh", Binary),
    ?assertNotEqual(Before, pyusdt_vm_trace_plan:code_hash()),
    true = code:delete(fresh).

%% ---- loops: calls of themselves in tail position, alone or through others of the module ----

server(N) -> receive stop -> N; _ -> server(N + 1) end.

sum([], Sum) -> Sum;
sum([First | Rest], Sum) -> sum(Rest, Sum + First).

first(N) when N > 0 -> second(N);
first(_) -> ok.

second(N) -> first(N - 1).

product([]) -> 1;
product([First | Rest]) -> First * product(Rest).

remote(0) -> ok;
remote(N) -> ?MODULE:remote(N - 1).

none(N) -> sum([N], product([N])).

loops_test() ->
    ?assertEqual([{first, 1}, {remote, 1}, {second, 1}, {server, 1}, {sum, 2}],
                 lists:sort([Function || Function <- pyusdt_vm_tail_calls:loops(?MODULE),
                                         lists:member(Function, [{server, 1}, {sum, 2}, {first, 1}, {second, 1}, {product, 1}, {remote, 1}, {none, 1}])])),
    ?assert(lists:member({loop, 7}, pyusdt_vm_tail_calls:loops(gen_server)) orelse lists:keymember(loop, 1, pyusdt_vm_tail_calls:loops(gen_server))),
    ?assertEqual([], pyusdt_vm_tail_calls:loops(erlang)), % it has no file
    ?assertEqual([], pyusdt_vm_tail_calls:loops(no_such_module)).

%% The code of all modules is read to its end, also on an OTP that is newer than the table of instructions.
all_code_is_known_test() ->
    Modules = [Module || {Module, File} <- code:all_loaded(), is_list(File), File =/= [], filename:extension(File) =:= ".beam"],
    ?assert(length([Module || Module <- Modules, pyusdt_vm_tail_calls:loops(Module) =/= []]) > length(Modules) div 2).
