%% @doc The trace flags and patterns that the emulator's own probes need.
%%
%% A plan depends on the probes, the options and the emulator, and is the smallest one that
%% suffices. {@link pyusdt_vm_trace_set} sets it.
-module(pyusdt_vm_trace_plan).

-export([offered_probes/1, plan/4, nothing/0, any_module_probes/1, unmatched/1, functions_of/1, functions_of_probe/1, whole_modules/1, code_hash/0]).

-export_type([plan/0, flag/0, state/0, pattern/0]).

-type flag() :: {processes | ports, atom()}.
-type state() :: function | returns | global | bif | nif | exit | file | driver | ets | inet | server_call | server_cast | handle | supervisor | code.
-type pattern() :: {mfa(), true | list(), Version :: term()}.
%% A function, a match specification, and which code of its module it is.
-type plan() :: #{flags := [flag()], patterns := #{state() => [pattern()]}, tokens := boolean(),
                  nodes := boolean(), monitors := [term()], monitor_probes := [atom()], samples := [atom()]}.

-define(RETURN, [{'_', [], [{exception_trace}]}]). % of calls that end in an exception, too
-define(NOT_OF_TABLES, [all, new, info, internal_request_all, internal_delete_all, internal_select_delete, is_compiled_ms,
                         match_spec_compile, match_spec_run_r, whereis]).
-define(OF_FUNCTIONS, ['local-function-entry', 'global-function-entry', 'function-return', 'bif-entry', 'bif-return',
                       'nif-entry', 'nif-return']).
-define(CALLER, {message, {caller}}).
-define(TAG, {message, {get_seq_token}}). % the user's, in a token of pyusdt_tag's

%% @doc The probes that this emulator gives.
-spec offered_probes(pyusdt_vm:options()) -> [atom()].
offered_probes(Options) ->
    Safe = is_safe() orelse maps:get(unsafe, Options, false),
    [Probe || Probe <- all_probes(), Safe orelse flags(Probe) =:= []].

%% Before 25.3, an emulator may crash when flags of processes are switched off while others run
%% dirty NIFs (OTP's issues 6448, 5984, 6495). Only patterns are safe there.
is_safe() ->
    Version = [list_to_integer(Part) || Part <- string:lexemes(erlang:system_info(version), "."), is_number_text(Part)],
    Version >= [13, 2].

is_number_text(Part) ->
    lists:all(fun(C) -> C >= $0 andalso C =< $9 end, Part).

%% @doc What has to be traced for these probes; of those in Tokens, the sequential trace token, or the caller, is read. Ended: functions
%% whose returns are no longer traced.
-spec plan(Probes :: [atom()], Tokens :: [atom()], pyusdt_vm:options(), Ended :: [mfa()]) -> {plan(), [pyusdt_vm_refusals:refusal()]}.
plan(Probes, Tokens, Options, Ended) ->
    Modules = maps:get(functions, Options, []),
    {Returns, Loops} = split_loops(wanted_of(Probes, 'function-return', fun list_functions/0, Modules), maps:get(loops, Options, [])),
    {plan_with(Probes, Tokens, Options, Returns -- Ended), loops_refusal(Loops)}.

plan_with(Probes, Tokens, Options, Returns) ->
    #{flags => lists:usort(lists:flatmap(fun flags/1, Probes)),
      patterns => patterns(Probes, Returns, [Probe || Probe <- Tokens, lists:member(Probe, ?OF_FUNCTIONS)], Options),
      tokens => Tokens -- ?OF_FUNCTIONS =/= [],
      nodes => lists:member('dist-monitor', Probes),
      monitors => lists:usort([Event || Probe <- Probes, Event <- monitor_events(Probe, Options)]),
      monitor_probes => [Probe || Probe <- Probes, monitor_events(Probe, Options) =/= []],
      samples => [Probe || Probe <- ['dist-outputv', 'dist-queue', 'scheduler-queue', 'process-sample', 'node-sample', 'inet-entry', 'inet-return'], lists:member(Probe, Probes)]}.

-spec nothing() -> plan().
nothing() ->
    #{flags => [], patterns => #{}, tokens => false, nodes => false, monitors => [], monitor_probes => [], samples => []}.

all_probes() ->
    ['process-spawn', 'process-exit', 'process-exit_signal', 'process-exit_signal-remote', 'process-scheduled',
     'process-unscheduled', 'process-hibernate', 'process-heap_grow', 'process-heap_shrink', 'message-send',
     'message-send-remote', 'message-queued', 'gc_major-start', 'gc_minor-start', 'gc_major-end', 'gc_minor-end',
     'port-open', 'port-command', 'port-control', 'port-exit', 'port-connect', 'port-busy',
     'port-not_busy', 'process-port_unblocked', 'process-long_gc', 'process-long_schedule', 'process-large_heap',
     'scheduler-queue', 'dist-queue', 'process-sample', 'process-name', 'node-sample', 'driver-call', 'driver-init', 'driver-finish', 'driver-start',
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

%% ---- system messages ----

monitor_events('port-busy', _) -> [busy_port];
monitor_events('port-not_busy', _) -> [busy_port];
monitor_events('process-port_unblocked', _) -> [busy_port, busy_dist_port];
monitor_events('dist-port_busy', _) -> [busy_dist_port];
monitor_events('dist-port_not_busy', _) -> [busy_dist_port];
monitor_events('process-long_gc', Options) -> [{long_gc, maps:get(long, Options)}];
monitor_events('process-long_schedule', Options) -> [{long_schedule, maps:get(long, Options)}];
monitor_events('process-large_heap', Options) -> [{large_heap, maps:get(large, Options)}];
monitor_events(_, _) -> [].

%% ---- patterns ----

%% @doc The probes that a session wants without naming a module.
-spec any_module_probes([atom()]) -> [atom()].
any_module_probes(Probes) ->
    [Probe || Probe <- Probes, lists:member(Probe, ?OF_FUNCTIONS), pyusdt_nif:vm_any_module(Probe)].

%% @doc Code that sessions name and that is not here, or not yet: a module is traced as soon as it is loaded.
-spec unmatched([atom()]) -> [pyusdt_vm_refusals:refusal()].
unmatched(Probes) ->
    All = [Refusal || {Probe, Candidates} <- candidates(), lists:member(Probe, Probes),
                      {Module, Function, Is_there} <- pyusdt_nif:vm_unmatched(Probe, Candidates()),
                      Refusal <- absence(Probe, Module, Function, Is_there)],
    case [Refusal || {absent, _, _} = Refusal <- All] of
        [] -> All;
        Absent -> Absent
    end.

absence(Probe, Module, Function, true) ->
    [{absent, [Probe], format_text("has no function ~ts:~ts for ~s", [Module, Function, Probe])}];
absence(Probe, Module, Function, false) ->
    case find_code(Module) of
        unknown -> [{later, [Probe], format_text("has no loaded module that matches ~ts for ~s", [Module, Probe])}];
        not_loaded -> [{later, [Probe], format_text("has not loaded the module ~ts yet, and traces ~ts:~ts as soon as it has",
                                                    [Module, Module, Function])}];
        none -> [{absent, [Probe], format_text("has no module ~ts for ~s", [Module, Probe])}]
    end.

%% A pattern's modules may come from anywhere.
find_code(Name) ->
    case re:run(Name, "[][*?\\\\]", [{capture, none}]) of
        match -> unknown;
        nomatch ->
            Files = [code:where_is_file(unicode:characters_to_list([Prefix, Name, ".beam"])) || Prefix <- ["", "Elixir."]],
            case lists:all(fun(File) -> File =:= non_existing end, Files) of
                true -> none;
                false -> not_loaded
            end
    end.

format_text(Format, Arguments) ->
    lists:flatten(io_lib:format(Format, Arguments)).

candidates() ->
    [{'local-function-entry', fun list_functions/0}, {'function-return', fun list_functions/0}, {'global-function-entry', fun list_exports/0},
     {'bif-entry', fun list_bifs/0}, {'bif-return', fun list_bifs/0}, {'nif-entry', fun list_nifs/0}, {'nif-return', fun list_nifs/0}].

%% @doc The functions at which a probe may fire, by module.
-spec functions_of_probe(atom()) -> [{module(), [{atom(), arity()}]}].
functions_of_probe(Probe) ->
    case lists:keyfind(Probe, 1, candidates()) of
        {Probe, Candidates} -> Candidates();
        false -> []
    end.

%% @doc Another number when other code is loaded.
-spec code_hash() -> non_neg_integer().
code_hash() ->
    erlang:phash2([module_version(Module) || Module <- loaded_modules()]).

loaded_modules() ->
    [Module || {Module, _} <- code:all_loaded(), not is_own(atom_to_list(Module))].

%% Our own functions are not traced.
is_own("pyusdt" ++ _) -> true;
is_own(_) -> false.

module_version(Module) ->
    try Module:module_info(md5)
    catch error:undef -> gone
    end.

%% Returns: the functions whose returns are traced. A tracer's state of their own counts their open calls. Callers: the probes whose
%% callers are read.
patterns(Probes, Returns, Callers, Options) ->
    Modules = maps:get(functions, Options, []),
    Conditions = pyusdt_vm_conditions:read(),
    Match = fun(Probe) -> fun(MFA) -> pyusdt_vm_conditions:match(Probe, MFA, Conditions, maps:get(secrets, Options, false)) end end,
    Make = fun(Probe, Entries, Of_returns) -> make_patterns(Entries, Of_returns, Match(Probe), lists:member(Probe, Callers)) end,
    Of = fun(Probe, Candidates) -> wanted_of(Probes, Probe, Candidates, Modules) end,
    All = #{exit => [{{erlang, exit, 2}, true, 0}
                     || Probes -- ['process-exit_signal', 'process-exit_signal-remote'] =/= Probes],
            file => file_patterns(lists:member('efile_drv-entry', Probes), lists:member('efile_drv-return', Probes)),
            driver => [{MFA, true, 0} || {Probe, MFA} <- driver_functions(), lists:member(Probe, Probes)],
            global => Make('global-function-entry', Of('global-function-entry', fun list_exports/0), []),
            function => Make('local-function-entry', Of('local-function-entry', fun list_functions/0) -- Returns, []),
            returns => Make('local-function-entry', [], Returns),
            bif => Make('bif-entry', Of('bif-entry', fun list_bifs/0), Of('bif-return', fun list_bifs/0)),
            nif => Make('nif-entry', Of('nif-entry', fun list_nifs/0), Of('nif-return', fun list_nifs/0))},
    maps:filter(fun(_, Patterns) -> Patterns =/= [] end, maps:merge(All, all_call_patterns(Probes))).

%% A NIF of prim_file ends in an exception if an argument is invalid.
file_patterns(_, true) -> [{MFA, [{'_', [], [?TAG, {exception_trace}]}], Version} || {MFA, _, Version} <- file_patterns(true, false)];
file_patterns(true, false) -> [{{prim_file, Name, Arity}, [{'_', [], [?TAG]}], 0} || {Name, Arity} <- read_module_info(prim_file, nifs)];
file_patterns(false, false) -> [].

%% BIFs of this module are there as soon as it is loaded.
driver_functions() ->
    _ = code:ensure_loaded(erl_ddll),
    [{'driver-call', {erts_internal, port_call, 3}}, {'driver-init', {erl_ddll, try_load, 3}}, {'driver-finish', {erl_ddll, try_unload, 2}}].

%% ---- calls of OTP's own functions: if only an entry is wanted, the return is not traced ----

all_call_patterns(Probes) ->
    maps:from_list([{State, call_patterns(Probes, Entries, Returns, Functions)} || {State, Entries, Returns, Functions} <- call_patterns()]).

call_patterns(Probes, Entries, Returns, Functions) ->
    case {Entries -- Probes =/= Entries, Returns -- Probes =/= Returns} of
        {false, false} -> [];
        {_, Return} -> [{MFA, match_specification(MFA, Return), 0} || MFA <- Functions(), is_there(MFA)]
    end.

%% The time that a call has waited in a server's queue is known from the caller, so the call is
%% followed to its end.
call_patterns() ->
    Handles = ['gen_server-handle-entry', 'gen_server-handle-return'],
    [{ets, ['ets-entry'], ['ets-return'], fun table_functions/0},
     {inet, ['inet-entry'], ['inet-return'], fun socket_functions/0},
     {server_call, ['gen_server-call-entry'], ['gen_server-call-return' | Handles], fun calling_functions/0},
     {server_cast, ['gen_server-cast'], [], fun casting_functions/0},
     {handle, ['gen_server-handle-entry'], ['gen_server-handle-return'], fun handler_functions/0},
     {supervisor, ['supervisor-restart'], [], fun() -> [{supervisor, restart, 2}] end},
     {code, ['code-load'], [], fun() -> [{erlang, prepare_loading, 2}] end}].

is_there({Module, Name, Arity}) ->
    lists:member({Name, Arity}, read_module_info(Module, functions)).

%% When OTP's connect/4 calls itself, the inner call has no port.
match_specification({prim_inet, connect, 4}, Return) -> [{['_', '_', '$1', '_'], [{'>', '$1', 0}], [{exception_trace} || Return]}];
match_specification({gen_server2, handle_msg, 2}, _) -> true; % it ends by the server's loop, and never returns
match_specification(_, true) -> [{'_', [], [{exception_trace}]}];
match_specification(_, false) -> true.

%% The functions whose first argument is a table.
table_functions() ->
    [{ets, Name, Arity} || {Name, Arity} <- maps:get(ets, maps:from_list(list_bifs())), not lists:member(Name, ?NOT_OF_TABLES)].

socket_functions() ->
    [{prim_inet, Name, Arity} || {Name, Arity} <- [{connect, 4}, {accept0, 3}, {send, 3}, {sendto, 4}, {recv0, 3}, {recvfrom0, 3}]]
        ++ [{prim_socket, Name, Arity} || {Name, Arity} <- [{nif_connect, 3}, {nif_accept, 2}, {nif_send, 4}, {nif_sendv, 3},
                                                            {nif_sendto, 5}, {nif_recv, 4}, {nif_recvfrom, 4}]].

%% Of OTP, Elixir (also for Agent and DynamicSupervisor) and RabbitMQ. Functions that these functions call are left out.
calling_functions() ->
    [{gen_server, call, 2}, {gen_server, call, 3}, {gen_statem, call, 3}, {'Elixir.GenServer', call, 3}, {gen_server2, call, 2},
     {gen_server2, call, 3}].

casting_functions() ->
    [{Module, cast, 2} || Module <- [gen_server, gen_statem, 'Elixir.GenServer', gen_server2]].

%% OTP 25 has try_dispatch/4 for messages that are no calls.
handler_functions() ->
    [{gen_server, Name, Arity} || {Name, Arity} <- [{try_handle_call, 4}, {try_handle_cast, 3}, {try_handle_info, 3},
                                                    {try_handle_continue, 3}, {try_dispatch, 4}]]
        ++ [{gen_server2, handle_msg, 2}].

wanted_of(Probes, Probe, Candidates, Modules) ->
    case lists:member(Probe, Probes) of
        true -> wanted_functions(Probe, Candidates(), Modules);
        false -> []
    end.

%% A session that names no module gets those of the option.
wanted_functions(Probe, Candidates, Modules) ->
    Open = pyusdt_nif:vm_any_module(Probe),
    [{Module, Function, Arity}
     || {Module, Functions} <- Candidates,
        {Function, Arity} <- case Open andalso lists:member(Module, Modules) of
                                 true -> Functions;
                                 false -> pyusdt_nif:vm_functions(Probe, Module, Functions)
                             end].

%% A return is traced only if a session wants it, because that breaks tail calls. Then all calls are traced.
make_patterns(Entries, Returns, Match, With_caller) ->
    Versions = maps:from_list([{Module, module_version(Module)} || {Module, _, _} <- Entries ++ Returns]),
    [{MFA, add_caller(Match(MFA), With_caller), maps:get(element(1, MFA), Versions)} || MFA <- Entries -- Returns]
        ++ [{MFA, add_caller(?RETURN, With_caller), maps:get(element(1, MFA), Versions)} || MFA <- Returns].

add_caller(Match, false) -> Match;
add_caller(true, true) -> [{'_', [], [?CALLER]}];
add_caller(Clauses, true) -> [{Head, Guards, [?CALLER | Body]} || {Head, Guards, Body} <- Clauses].

%% @doc Patterns that are one call together, since they are all functions of a module but `Others', which get none; and the
%% other patterns. Each call waits for all schedulers, which takes long if they are busy.
-spec whole_modules([pattern()]) -> {[{module(), Match :: true | list(), Others :: [mfa()], [pattern()]}], [pattern()]}.
whole_modules(Patterns) ->
    By_module = maps:groups_from_list(fun({{Module, _, _}, Match, _}) -> {Module, Match} end, Patterns),
    lists:foldl(fun add_module/2, {[], []}, maps:to_list(By_module)).

add_module({{Module, Match}, Patterns}, {Whole, Single}) ->
    Others = functions_of(Module) -- [Function || {Function, _, _} <- Patterns],
    case length(Patterns) > 3 andalso Others -- [{Module, module_info, 0}, {Module, module_info, 1}] =:= [] of
        true -> {[{Module, Match, Others, Patterns} | Whole], Single};
        false -> {Whole, Patterns ++ Single}
    end.

%% ---- loops: returns of functions that call themselves in tail position, which grow the stack ----

%% Allowed: those that the option names.
split_loops(Functions, Allowed) ->
    Modules = lists:usort([Module || {Module, _, _} <- Functions]),
    Loops = lists:append([read_loops(Module) || Module <- Modules]) -- Allowed,
    lists:partition(fun(Function) -> not lists:member(Function, Loops) end, Functions).

%% A plan is made again and again, and the code stays the same: kept for this version of the module.
read_loops(Module) ->
    Version = module_version(Module),
    case get({?MODULE, Module}) of
        {Version, Loops} ->
            Loops;
        _ ->
            Loops = [{Module, Function, Arity} || {Function, Arity} <- pyusdt_vm_tail_calls:loops(Module)],
            _ = put({?MODULE, Module}, {Version, Loops}),
            Loops
    end.

loops_refusal([]) ->
    [];
loops_refusal([{Module, Function, Arity} = MFA | _] = Loops) ->
    [{loops, ['function-return'],
      format_text("the returns of ~tw:~tw/~b~ts are not traced: functions that call themselves in tail position may never return, and "
                  "their stacks would grow. The node allows one by pyusdt_vm:enable(#{loops => [~0p]})",
                  [Module, Function, Arity, case length(Loops) of 1 -> ""; N -> io_lib:format(" and ~b more", [N - 1]) end, MFA])}].

%% ---- functions that there are: [{Module, [{Function, Arity}]}] ----

list_exports() ->
    [{Module, read_module_info(Module, exports) -- [{module_info, 0}, {module_info, 1}]} || Module <- loaded_modules()].

%% BIFs and NIFs have probes of their own.
list_functions() ->
    Bifs = maps:from_list(list_bifs()),
    [{Module, read_module_info(Module, functions) -- [{module_info, 0}, {module_info, 1}] -- maps:get(Module, Bifs, [])
                  -- read_module_info(Module, nifs)} || Module <- loaded_modules()].

%% @doc All functions of a loaded module.
-spec functions_of(module()) -> [mfa()].
functions_of(Module) ->
    [{Module, Function, Arity} || {Function, Arity} <- read_module_info(Module, functions)].

list_bifs() ->
    Add = fun({Module, Function, Arity}, All) ->
                  maps:update_with(Module, fun(Others) -> [{Function, Arity} | Others] end, [{Function, Arity}], All)
          end,
    maps:to_list(lists:foldl(Add, #{}, erlang:system_info(snifs))).

list_nifs() ->
    Bifs = maps:from_list(list_bifs()),
    [{Module, read_module_info(Module, nifs) -- maps:get(Module, Bifs, [])} || Module <- loaded_modules()].

read_module_info(Module, What) ->
    try Module:module_info(What)
    catch error:undef -> []
    end.
