%% What is traced for which probes. What tracers see of it is tested from outside (tests/erlang/test_erlang_vm.py).
-module(pyusdt_vm_tests).

-include_lib("eunit/include/eunit.hrl").

plan(Probes) ->
    pyusdt_vm_plan:plan(Probes, [], #{functions => [?MODULE, lists]}).

%% Every probe that is given comes from a flag, a pattern, or what the controlling process is told.
every_probe_has_a_source_test() ->
    Nothing = pyusdt_vm_plan:nothing(),
    Without = [Probe || Probe <- pyusdt_vm_plan:given(#{unsafe => true}), plan([Probe]) =:= Nothing],
    ?assertEqual(['nif-entry', 'nif-return'], Without). % neither module has NIFs

the_fewest_flags_test() ->
    ?assertMatch(#{flags := [{processes, procs}], patterns := P} when map_size(P) =:= 0, plan(['process-spawn', 'process-exit'])),
    ?assertMatch(#{flags := []}, plan(['local-function-entry', 'process-exit_signal', 'dist-monitor'])),
    ?assertMatch(#{flags := [{ports, ports}]}, plan(['port-open'])).

%% A return breaks tail calls, so it is traced only if it is wanted itself.
returns_are_not_traced_for_entries_test() ->
    Entry = {{?MODULE, plan, 1}, true},
    #{patterns := #{function := Entries}} = plan(['local-function-entry']),
    ?assert(lists:member(Entry, Entries)),
    #{patterns := #{function := Returns}} = plan(['local-function-entry', 'function-return']),
    ?assertNot(lists:member(Entry, Returns)),
    ?assertEqual(length(Entries), length(Returns)).

bifs_are_no_local_functions_test() ->
    #{patterns := #{function := Functions, bif := Bifs}} = plan(['local-function-entry', 'bif-entry']),
    ?assertEqual([], [MFA || {MFA, _} <- Functions, lists:keymember(MFA, 1, Bifs)]),
    ?assert(lists:keymember({lists, reverse, 2}, 1, Bifs)).

no_function_without_a_module_test() ->
    ?assertEqual(pyusdt_vm_plan:nothing(), pyusdt_vm_plan:plan(['local-function-entry', 'bif-entry'], [], #{functions => []})).
