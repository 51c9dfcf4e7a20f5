%% The plans for probes. tests/erlang/test_erlang_vm.py has the tests with tracers.
-module(pyusdt_vm_tests).

-include_lib("eunit/include/eunit.hrl").

plan(Probes) ->
    pyusdt_vm_trace_plan:plan(Probes, [], #{functions => [], long => 100, large => 10000000}).

%% Every offered probe comes from a flag, a pattern, or a message to the controlling process.
every_probe_has_a_source_test() ->
    Nothing = pyusdt_vm_trace_plan:nothing(),
    Of_functions = ['local-function-entry', 'function-return', 'bif-entry', 'bif-return', 'nif-entry', 'nif-return'],
    ?assertEqual(Of_functions, [Probe || Probe <- pyusdt_vm_trace_plan:offered_probes(#{unsafe => true}), plan([Probe]) =:= Nothing]).

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
