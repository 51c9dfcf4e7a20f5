%% @doc Which trace flags and patterns the emulator's own probes come from.
%%
%% In:  names of probes; the options; which emulator this is.
%% Out: what has to be traced for them, in terms that {@link pyusdt_vm_arm} sets.
%% Always: the fewest that will do; nothing is asked of processes but who they are.
-module(pyusdt_vm_plan).

-export([given/1, plan/3, nothing/0]).

-export_type([plan/0, flag/0, state/0, pattern/0]).

-type flag() :: {processes | ports, atom()}.
-type state() :: function | global | bif | nif | exit.
-type pattern() :: {mfa(), true | list()}.
%% A function, with `_' for any, and a match specification.
-type plan() :: #{flags := [flag()], patterns := #{state() => [pattern()]}, tokens := boolean(),
                  nodes := boolean(), busy := [busy_port | busy_dist_port]}.

-define(RETURN, [{'_', [], [{return_trace}]}]).

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
      busy => [Event || {Probe, Event} <- [{'port-busy', busy_port}, {'dist-port_busy', busy_dist_port}],
                        lists:member(Probe, Probes)]}.

-spec nothing() -> plan().
nothing() ->
    #{flags => [], patterns => #{}, tokens => false, nodes => false, busy => []}.

probes() ->
    ['process-spawn', 'process-exit', 'process-exit_signal', 'process-exit_signal-remote', 'process-scheduled',
     'process-unscheduled', 'process-hibernate', 'process-heap_grow', 'process-heap_shrink', 'message-send',
     'message-send-remote', 'message-queued', 'gc_major-start', 'gc_minor-start', 'gc_major-end', 'gc_minor-end',
     'port-open', 'port-command', 'port-control', 'port-exit', 'port-connect', 'port-busy', 'driver-start',
     'driver-stop', 'driver-output', 'driver-outputv', 'driver-control', 'dist-monitor', 'dist-port_busy',
     'local-function-entry', 'global-function-entry', 'function-return', 'bif-entry', 'bif-return', 'nif-entry',
     'nif-return'].

%% ---- flags ----

-spec flags(atom()) -> [flag()].
flags('process-spawn') -> [{processes, procs}];
flags('process-exit') -> [{processes, procs}];
flags('process-scheduled') -> [{processes, running}];
flags('process-unscheduled') -> [{processes, running}];
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

%% ---- patterns ----

-spec patterns([atom()], [module()]) -> #{state() => [pattern()]}.
patterns(Probes, Modules) ->
    Wanted = fun(Names) -> Names -- Probes =/= Names end,
    All = #{exit => [{{erlang, exit, 2}, true} || Wanted(['process-exit_signal', 'process-exit_signal-remote'])],
            global => [{{Module, '_', '_'}, true} || Wanted(['global-function-entry']), Module <- Modules],
            function => of_kind('local-function-entry', 'function-return', Probes, fun() -> functions(Modules) end),
            bif => of_kind('bif-entry', 'bif-return', Probes, fun() -> bifs(Modules) end),
            nif => of_kind('nif-entry', 'nif-return', Probes, fun() -> nifs(Modules) end)},
    maps:filter(fun(_, Patterns) -> Patterns =/= [] end, All).

%% A return is traced only where somebody wants it: it breaks tail calls.
of_kind(Entry, Return, Probes, Functions) ->
    case {lists:member(Entry, Probes), lists:member(Return, Probes)} of
        {_, true} -> [{Function, ?RETURN} || Function <- Functions()];
        {true, false} -> [{Function, true} || Function <- Functions()];
        {false, false} -> []
    end.

%% BIFs and NIFs have probes of their own.
functions(Modules) ->
    [{Module, Function, Arity} || Module <- Modules, {Function, Arity} <- Module:module_info(functions)]
        -- bifs(Modules) -- nifs(Modules).

bifs(Modules) ->
    [MFA || {Module, _, _} = MFA <- erlang:system_info(snifs), lists:member(Module, Modules)].

nifs(Modules) ->
    [{Module, Function, Arity} || Module <- Modules, {Function, Arity} <- Module:module_info(nifs)] -- bifs(Modules).
