%% @doc Which trace flags and patterns the emulator's own probes come from.
%%
%% In:  names of probes; the options; which emulator this is.
%% Out: what has to be traced for them, in terms that {@link pyusdt_vm_trace_set} sets.
%% Always: the fewest that will do; nothing is asked of processes but who they are.
-module(pyusdt_vm_trace_plan).

-export([given/1, plan/3, nothing/0, open/1, code/0]).

-export_type([plan/0, flag/0, state/0, pattern/0]).

-type flag() :: {processes | ports, atom()}.
-type state() :: function | global | bif | nif | exit | file | driver | ets | inet | server_call | server_cast | handle | supervisor | code.
-type pattern() :: {mfa(), true | list(), Version :: term()}.
%% A function, a match specification, and which code of its module it is.
-type plan() :: #{flags := [flag()], patterns := #{state() => [pattern()]}, tokens := boolean(),
                  nodes := boolean(), monitors := [term()], samples := [atom()]}.

-define(RETURN, [{'_', [], [{return_trace}]}]).
-define(NOT_OF_TABLES, [all, new, info, internal_request_all, internal_delete_all, internal_select_delete, is_compiled_ms,
                         match_spec_compile, match_spec_run_r, whereis]).
-define(TAG, {message, {get_seq_token}}). % the user's, in a token of pyusdt_tag's

%% @doc The probes that this emulator gives.
-spec given(pyusdt_vm:options()) -> [atom()].
given(Options) ->
    Safe = is_safe() orelse maps:get(unsafe, Options, false),
    [Probe || Probe <- probes(), Safe orelse flags(Probe) =:= []].

%% Before 25.3, an emulator may crash when flags of processes are switched off while others run dirty NIFs
%% (OTP's issues 6448, 5984, 6495). Patterns alone are safe there.
is_safe() ->
    Version = [list_to_integer(Part) || Part <- string:lexemes(erlang:system_info(version), "."), is_number_text(Part)],
    Version >= [13, 2].

is_number_text(Part) ->
    lists:all(fun(C) -> C >= $0 andalso C =< $9 end, Part).

%% @doc What has to be traced for these probes; of those in Tokens, the sequential trace token is read.
-spec plan(Probes :: [atom()], Tokens :: [atom()], pyusdt_vm:options()) -> plan().
plan(Probes, Tokens, Options) ->
    #{flags => lists:usort(lists:flatmap(fun flags/1, Probes)),
      patterns => patterns(Probes, maps:get(functions, Options, [])),
      tokens => Tokens =/= [],
      nodes => lists:member('dist-monitor', Probes),
      monitors => lists:usort([Event || Probe <- Probes, Event <- monitored(Probe, Options)]),
      samples => [Probe || Probe <- ['dist-outputv', 'scheduler-queue', 'inet-entry', 'inet-return'], lists:member(Probe, Probes)]}.

-spec nothing() -> plan().
nothing() ->
    #{flags => [], patterns => #{}, tokens => false, nodes => false, monitors => [], samples => []}.

probes() ->
    ['process-spawn', 'process-exit', 'process-exit_signal', 'process-exit_signal-remote', 'process-scheduled',
     'process-unscheduled', 'process-hibernate', 'process-heap_grow', 'process-heap_shrink', 'message-send',
     'message-send-remote', 'message-queued', 'gc_major-start', 'gc_minor-start', 'gc_major-end', 'gc_minor-end',
     'port-open', 'port-command', 'port-control', 'port-exit', 'port-connect', 'port-busy',
     'port-not_busy', 'process-port_unblocked', 'process-long_gc', 'process-long_schedule', 'process-large_heap',
     'scheduler-queue', 'driver-call', 'driver-init', 'driver-finish', 'driver-start',
     'driver-stop', 'driver-output', 'driver-outputv', 'driver-control', 'dist-monitor', 'dist-port_busy',
     'dist-port_not_busy', 'dist-outputv', 'ets-entry', 'ets-return', 'inet-entry', 'inet-return',
     'gen_server-call-entry', 'gen_server-call-return', 'gen_server-cast', 'gen_server-handle-entry', 'gen_server-handle-return',
     'supervisor-restart', 'code-load',
     'efile_drv-entry', 'efile_drv-return', 'local-function-entry', 'global-function-entry', 'function-return',
     'bif-entry', 'bif-return', 'nif-entry', 'nif-return'].

%% ---- flags ----

-spec flags(atom()) -> [flag()].
flags('process-spawn') -> [{processes, procs}];
flags('process-exit') -> [{processes, procs}];
flags('process-scheduled') -> [{processes, running}];
flags('process-unscheduled') -> [{processes, running}];
flags('process-port_unblocked') -> [{processes, running}];
flags('port-not_busy') -> [{processes, running}];
flags('dist-port_not_busy') -> [{processes, running}];
flags('process-hibernate') -> [{processes, running}];
flags('process-heap_grow') -> [{processes, garbage_collection}];
flags('process-heap_shrink') -> [{processes, garbage_collection}];
flags('gc_major-start') -> [{processes, garbage_collection}];
flags('gc_minor-start') -> [{processes, garbage_collection}];
flags('gc_major-end') -> [{processes, garbage_collection}];
flags('gc_minor-end') -> [{processes, garbage_collection}];
flags('message-send') -> [{processes, send}];
flags('message-send-remote') -> [{processes, send}];
flags('message-queued') -> [{processes, 'receive'}];
flags('port-open') -> [{ports, ports}];
flags('port-exit') -> [{ports, ports}];
flags('driver-start') -> [{ports, ports}];
flags('driver-stop') -> [{ports, ports}];
flags('port-command') -> [{ports, ports}, {ports, 'receive'}]; % the former for the names of ports
flags('port-control') -> [{ports, ports}, {ports, 'receive'}];
flags('port-connect') -> [{ports, ports}, {ports, 'receive'}];
flags('driver-output') -> [{ports, ports}, {ports, 'receive'}];
flags('driver-outputv') -> [{ports, ports}, {ports, 'receive'}];
flags('driver-control') -> [{ports, ports}, {ports, 'receive'}];
flags('global-function-entry') -> [{processes, call}];
flags(_) -> [].

%% ---- what the controlling process is told ----

monitored('port-busy', _) -> [busy_port];
monitored('port-not_busy', _) -> [busy_port];
monitored('process-port_unblocked', _) -> [busy_port];
monitored('dist-port_busy', _) -> [busy_dist_port];
monitored('dist-port_not_busy', _) -> [busy_dist_port];
monitored('process-long_gc', Options) -> [{long_gc, maps:get(long, Options)}];
monitored('process-long_schedule', Options) -> [{long_schedule, maps:get(long, Options)}];
monitored('process-large_heap', Options) -> [{large_heap, maps:get(large, Options)}];
monitored(_, _) -> [].

%% ---- patterns ----

-define(OF_FUNCTIONS, ['local-function-entry', 'global-function-entry', 'function-return', 'bif-entry', 'bif-return',
                       'nif-entry', 'nif-return']).

%% @doc Those that somebody wants without naming a module.
-spec open([atom()]) -> [atom()].
open(Probes) ->
    [Probe || Probe <- Probes, lists:member(Probe, ?OF_FUNCTIONS), pyusdt_nif:vm_open(Probe)].

%% @doc Another number when other code is loaded.
-spec code() -> non_neg_integer().
code() ->
    erlang:phash2([version(Module) || Module <- loaded()]).

loaded() ->
    [Module || {Module, _} <- code:all_loaded(), not is_own(atom_to_list(Module))].

%% What fires is not traced.
is_own("pyusdt" ++ _) -> true;
is_own(_) -> false.

version(Module) ->
    try Module:module_info(md5)
    catch error:undef -> gone
    end.

patterns(Probes, Modules) ->
    Of = fun(Probe, Candidates) -> lists:member(Probe, Probes) andalso wanted(Probe, Candidates(), Modules) end,
    All = #{exit => [{{erlang, exit, 2}, true, 0}
                     || Probes -- ['process-exit_signal', 'process-exit_signal-remote'] =/= Probes],
            file => files(lists:member('efile_drv-entry', Probes), lists:member('efile_drv-return', Probes)),
            driver => [{MFA, true, 0} || {Probe, MFA} <- drivers(), lists:member(Probe, Probes)],
            global => specified(Of('global-function-entry', fun exports/0), false),
            function => specified(Of('local-function-entry', fun functions/0), Of('function-return', fun functions/0)),
            bif => specified(Of('bif-entry', fun bifs/0), Of('bif-return', fun bifs/0)),
            nif => specified(Of('nif-entry', fun nifs/0), Of('nif-return', fun nifs/0))},
    maps:filter(fun(_, Patterns) -> Patterns =/= [] end, maps:merge(All, calls(Probes))).

%% A NIF of prim_file's ends in an exception where an argument can not be.
files(_, true) -> [{MFA, [{'_', [], [?TAG, {exception_trace}]}], Version} || {MFA, _, Version} <- files(true, false)];
files(true, false) -> [{{prim_file, Name, Arity}, [{'_', [], [?TAG]}], 0} || {Name, Arity} <- of_module(prim_file, nifs)];
files(false, false) -> [].

%% BIFs of this module are there as soon as it is loaded.
drivers() ->
    _ = code:ensure_loaded(erl_ddll),
    [{'driver-call', {erts_internal, port_call, 3}}, {'driver-init', {erl_ddll, try_load, 3}}, {'driver-finish', {erl_ddll, try_unload, 2}}].

%% ---- calls of OTP's own functions: for an entry alone, the return is not traced ----

calls(Probes) ->
    maps:from_list([{State, called(Probes, Entries, Returns, Functions)} || {State, Entries, Returns, Functions} <- called()]).

called(Probes, Entries, Returns, Functions) ->
    case {Entries -- Probes =/= Entries, Returns -- Probes =/= Returns} of
        {false, false} -> [];
        {_, Return} -> [{MFA, match(MFA, Return), 0} || MFA <- Functions(), is_there(MFA)]
    end.

%% How long a call has waited in a server's queue is told by what the caller is in, so that is followed to its end.
called() ->
    Handles = ['gen_server-handle-entry', 'gen_server-handle-return'],
    [{ets, ['ets-entry'], ['ets-return'], fun tables/0},
     {inet, ['inet-entry'], ['inet-return'], fun sockets/0},
     {server_call, ['gen_server-call-entry'], ['gen_server-call-return' | Handles], fun() -> [{gen_server, call, 2}, {gen_server, call, 3}] end},
     {server_cast, ['gen_server-cast'], [], fun() -> [{gen_server, cast, 2}] end},
     {handle, ['gen_server-handle-entry'], ['gen_server-handle-return'], fun handlers/0},
     {supervisor, ['supervisor-restart'], [], fun() -> [{supervisor, restart, 2}] end},
     {code, ['code-load'], [], fun() -> [{erlang, prepare_loading, 2}] end}].

is_there({Module, Name, Arity}) ->
    lists:member({Name, Arity}, of_module(Module, functions)).

%% Where OTP's connect/4 calls itself, the inner one has no port.
match({prim_inet, connect, 4}, Return) -> [{['_', '_', '$1', '_'], [{'>', '$1', 0}], [{exception_trace} || Return]}];
match(_, true) -> [{'_', [], [{exception_trace}]}];
match(_, false) -> true.

%% Those whose first argument is a table.
tables() ->
    [{ets, Name, Arity} || {Name, Arity} <- maps:get(ets, maps:from_list(bifs())), not lists:member(Name, ?NOT_OF_TABLES)].

sockets() ->
    [{prim_inet, Name, Arity} || {Name, Arity} <- [{connect, 4}, {accept0, 3}, {send, 3}, {sendto, 4}, {recv0, 3}, {recvfrom0, 3}]]
        ++ [{prim_socket, Name, Arity} || {Name, Arity} <- [{nif_connect, 3}, {nif_accept, 2}, {nif_send, 4}, {nif_sendv, 3},
                                                            {nif_sendto, 5}, {nif_recv, 4}, {nif_recvfrom, 4}]].

%% OTP 25 has try_dispatch/4 for what is no call.
handlers() ->
    [{gen_server, Name, Arity} || {Name, Arity} <- [{try_handle_call, 4}, {try_handle_cast, 3}, {try_handle_info, 3},
                                                    {try_handle_continue, 3}, {try_dispatch, 4}]].

%% Who names no module gets those of the option.
wanted(Probe, Candidates, Modules) ->
    Open = pyusdt_nif:vm_open(Probe),
    [{Module, Function, Arity}
     || {Module, Functions} <- Candidates,
        {Function, Arity} <- case Open andalso lists:member(Module, Modules) of
                                 true -> Functions;
                                 false -> pyusdt_nif:vm_functions(Probe, Module, Functions)
                             end].

%% A return is traced only where somebody wants it: it breaks tail calls.
specified(Entries, Returns) ->
    Of_returns = list(Returns),
    Versions = maps:from_list([{Module, version(Module)} || {Module, _, _} <- list(Entries) ++ Of_returns]),
    [{MFA, true, maps:get(element(1, MFA), Versions)} || MFA <- list(Entries) -- Of_returns]
        ++ [{MFA, ?RETURN, maps:get(element(1, MFA), Versions)} || MFA <- Of_returns].

list(false) -> [];
list(List) -> List.

%% ---- functions that there are: [{Module, [{Function, Arity}]}] ----

exports() ->
    [{Module, of_module(Module, exports) -- [{module_info, 0}, {module_info, 1}]} || Module <- loaded()].

%% BIFs and NIFs have probes of their own.
functions() ->
    Bifs = maps:from_list(bifs()),
    [{Module, of_module(Module, functions) -- [{module_info, 0}, {module_info, 1}] -- maps:get(Module, Bifs, [])
                  -- of_module(Module, nifs)} || Module <- loaded()].

bifs() ->
    Add = fun({Module, Function, Arity}, All) ->
                  maps:update_with(Module, fun(Others) -> [{Function, Arity} | Others] end, [{Function, Arity}], All)
          end,
    maps:to_list(lists:foldl(Add, #{}, erlang:system_info(snifs))).

nifs() ->
    Bifs = maps:from_list(bifs()),
    [{Module, of_module(Module, nifs) -- maps:get(Module, Bifs, [])} || Module <- loaded()].

of_module(Module, What) ->
    try Module:module_info(What)
    catch error:undef -> []
    end.
