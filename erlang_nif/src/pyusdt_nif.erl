%% @doc The boundary to C: the enabled tests, and firing. Use {@link pyusdt}.
%%
%% A call is bounded, and converts only values that a tracer reads. If the library cannot be loaded,
%% the module still can: it logs that once, and returns false.
-module(pyusdt_nif).

-export([available/0, usdt/0, enabled/0, enabled/1, wants_stack/0, wants_stack/1, fire/2, fire/3, user_trace_i4s4/9, user_trace_s1/1]).
-export([check_provider/1, define_probe/3, fire_probe/2, probe_enabled/1, telemetry_probe/2]).
-export([vm_define/1, vm_wanted/0, vm_check_sessions/0, vm_any_module/1, vm_functions/3, vm_unmatched/2, vm_watch/1, vm_conditions/0, vm_sessions/3, vm_is_matched/2, is_secret/1, secret_record/3,
         vm_set_controller/1, vm_read_overrun/0, vm_begin/3, vm_deep_processes/0, vm_watch_begin/4, vm_watch_end/0, vm_watch_seen/0, vm_remark/4, vm_port/3, vm_peer/3, vm_blocked/4, vm_fire/2, enabled/3, trace/5]).
-export([library_path/1, log_missing_library/2]).

-export_type([answer/0]).

-on_load(on_load/0).
-nifs([available/0, usdt/0, enabled/0, enabled/1, wants_stack/0, wants_stack/1, fire/2, fire/3, user_trace_i4s4/9, user_trace_s1/1,
       check_provider/1, define_probe/3, fire_probe/2, probe_enabled/1, telemetry_probe/2,
       vm_define/1, vm_wanted/0, vm_check_sessions/0, vm_any_module/1, vm_functions/3, vm_unmatched/2, vm_watch/1, vm_conditions/0, vm_sessions/3, vm_is_matched/2, is_secret/1, secret_record/3,
       vm_set_controller/1, vm_read_overrun/0, vm_begin/3, vm_deep_processes/0, vm_watch_begin/4, vm_watch_end/0, vm_watch_seen/0, vm_remark/4, vm_port/3, vm_peer/3, vm_blocked/4, vm_fire/2, enabled/3, trace/5]).

-type answer() :: true | false | error | badarg.
%% Offered to a tracer, not wanted, no such probe, or an impossible argument.

%% @doc Whether the library is loaded, so that probes can fire.
-spec available() -> boolean().
available() ->
    answer_without_library(false).

%% @doc Whether tracers other than pydtrace see the probes (USDT).
-spec usdt() -> boolean().
usdt() ->
    answer_without_library(false).

%% @doc Whether user_trace-i4s4 is traced.
-spec enabled() -> boolean().
enabled() ->
    answer_without_library(false).

%% @doc Whether user_trace-n<em>Number</em> is traced.
-spec enabled(term()) -> answer().
enabled(_Number) ->
    answer_without_library(false).

%% @doc Whether a session wants the stack of a process that fires user_trace-i4s4.
-spec wants_stack() -> boolean().
wants_stack() ->
    answer_without_library(false).

%% @doc The same of user_trace-n<em>Number</em>.
-spec wants_stack(term()) -> boolean().
wants_stack(_Number) ->
    answer_without_library(false).

%% @doc Fire user_trace-i4s4. Of the values, integers from the left, at most four, are its integers.
-spec fire(Tag :: term(), Values :: [term()]) -> answer().
fire(_Tag, _Values) ->
    answer_without_library(false).

%% @doc Fire user_trace-n<em>Number</em>.
-spec fire(Number :: term(), Tag :: term(), Values :: [term()]) -> answer().
fire(_Number, _Tag, _Values) ->
    answer_without_library(false).

-spec user_trace_i4s4(term(), term(), term(), term(), term(), term(), term(), term(), term()) -> answer().
user_trace_i4s4(_Tag, _I1, _I2, _I3, _I4, _S1, _S2, _S3, _S4) ->
    answer_without_library(false).

-spec user_trace_s1(term()) -> answer().
user_trace_s1(_Message) ->
    answer_without_library(false).

%% @doc Whether a provider can have this name. Without the library any can.
-spec check_provider(Provider :: binary()) -> ok | {error, badarg, Message :: binary()}.
check_provider(_Provider) ->
    answer_without_library(ok).

%% @doc Make a probe of an application provider. Types are the numbers of include/pyusdt.h, alone or
%% with the argument's name. Without the library the result is a reference without effect.
-spec define_probe(Provider :: binary(), Name :: binary(), [byte() | {byte(), binary()}]) ->
          {ok, reference(), Path :: binary(), Why :: binary()} | {error, badarg | eexist | enomem, Message :: binary()}.
define_probe(_Provider, _Name, _Types) ->
    answer_without_library({ok, make_ref(), <<>>, <<"the library is not loaded">>}).

%% @doc The probe that the tracer of telemetry:execute/3 fires from now on. False: none of this library's.
-spec telemetry_probe(reference(), Secrets :: boolean()) -> boolean().
telemetry_probe(_Probe, _Secrets) ->
    answer_without_library(false).

-spec fire_probe(reference(), [term()]) -> answer().
fire_probe(_Probe, _Values) ->
    answer_without_library(false).

-spec probe_enabled(reference()) -> boolean().
probe_enabled(_Probe) ->
    answer_without_library(false).

%% ---- the emulator's own probes (pyusdt_vm_server) ----

%% @doc Make these probes of the emulator's.
-spec vm_define([atom()]) -> ok | {error, Message :: string()}.
vm_define(_Names) ->
    answer_without_library({error, "the library is not loaded"}).

%% @doc The wanted probes.
-spec vm_wanted() -> [atom()].
vm_wanted() ->
    answer_without_library([]).

%% @doc Set up new sessions and check whether their tracers live; the probes of which a sequential
%% trace token is read.
-spec vm_check_sessions() -> [atom()].
vm_check_sessions() ->
    answer_without_library([]).

%% @doc Whether a session wants this probe of functions without naming a module.
-spec vm_any_module(atom()) -> boolean().
vm_any_module(_Probe) ->
    answer_without_library(false).

%% @doc The functions of a module for which a session wants this probe and names the module.
-spec vm_functions(atom(), module(), [{atom(), arity()}]) -> [{atom(), arity()}].
vm_functions(_Probe, _Module, _Functions) ->
    answer_without_library([]).

%% @doc The conditions on parameters that sessions have, as External Term Format.
-spec vm_conditions() -> [{Session :: non_neg_integer(), binary()}].
vm_conditions() ->
    answer_without_library([]).

%% @doc The sessions that want the probe of a function; true: another tool has attached to it.
-spec vm_sessions(atom(), module(), atom()) -> [non_neg_integer()] | true.
vm_sessions(_Probe, _Module, _Function) ->
    answer_without_library(true).

%% @doc Whether a pattern of D matches the name of a module or function.
-spec vm_is_matched(Pattern :: binary(), atom()) -> boolean().
vm_is_matched(_Pattern, _Name) ->
    answer_without_library(true).

%% @doc These elements of a record are secrets; false: too many records have some.
-spec secret_record(atom(), Size :: pos_integer(), Positions :: [pos_integer()]) -> boolean().
secret_record(_Name, _Size, _Positions) ->
    answer_without_library(false).

%% @doc Whether a key names a secret.
-spec is_secret(term()) -> boolean().
is_secret(_Key) ->
    answer_without_library(true).

%% @doc The patterns by which sessions ask for this probe, and which match none of these functions; whether they match a module.
-spec vm_unmatched(atom(), [{module(), [{atom(), arity()}]}]) -> [{Module :: binary(), Function :: binary(), boolean()}].
vm_unmatched(_Probe, _Functions) ->
    answer_without_library([]).

%% @doc The controlling process is sent `changed' when tracers want something else, until it says false; false: it is not.
-spec vm_watch(boolean()) -> boolean().
vm_watch(_On) ->
    answer_without_library(false).

%% @doc The caller is the controlling process; whether flags of processes are set.
-spec vm_set_controller(Processes :: boolean()) -> ok.
vm_set_controller(_Processes) ->
    answer_without_library(ok).

%% @doc Whether there were too many events on one scheduler, and in how many microseconds. Then all are dropped.
-spec vm_read_overrun() -> false | {Events :: pos_integer(), Microseconds :: pos_integer()}.
vm_read_overrun() ->
    answer_without_library(false).

%% @doc Nothing is traced yet. How many events a second one scheduler may have (0: any number), and how many calls
%% whose returns are traced a process may have open; whether values are shown whose names are those of secrets.
-spec vm_begin(Rate :: non_neg_integer(), Depth :: pos_integer(), Secrets :: boolean()) -> ok.
vm_begin(_Rate, _Depth, _Secrets) ->
    answer_without_library(ok).

%% @doc Processes that have too many such calls open, how many, and the function of the last one.
-spec vm_deep_processes() -> [{pid(), pos_integer(), module(), Function :: atom(), arity()}].
vm_deep_processes() ->
    answer_without_library([]).

%% @doc From now on Receiver is sent calls that take at least Slower microseconds in the tracer's state `watch', at most so many;
%% and at most so many calls are looked at.
-spec vm_watch_begin(Receiver :: pid(), Messages :: pos_integer(), Calls :: pos_integer(), Slower :: non_neg_integer()) -> ok.
vm_watch_begin(_Receiver, _Messages, _Calls, _Slower) ->
    answer_without_library(ok).

%% @doc No longer.
-spec vm_watch_end() -> ok.
vm_watch_end() ->
    answer_without_library(ok).

%% @doc How many calls were looked at.
-spec vm_watch_seen() -> non_neg_integer().
vm_watch_seen() ->
    answer_without_library(0).

%% @doc A text that tracers print which want one of these probes (all, if none is named); none: no longer. False: there is no room.
-spec vm_remark(0..6, Names :: binary(), Text :: binary() | none, refused | absent | later) -> boolean().
vm_remark(_Number, _Names, _Text, _Kind) ->
    answer_without_library(false).

%% @doc A port that was there before it was traced.
-spec vm_port(port(), Owner :: pid(), Name :: string()) -> ok.
vm_port(_Port, _Owner, _Name) ->
    answer_without_library(ok).

%% @doc Where a socket that was accepted, or there before it was traced, is connected to.
-spec vm_peer(port(), inet:ip_address(), inet:port_number()) -> ok.
vm_peer(_Port, _Ip, _Number) ->
    answer_without_library(ok).

%% @doc The process is suspended, since the port is busy; the names of two nodes, if it is one of
%% the distribution.
-spec vm_blocked(pid(), port(), Here :: node() | undefined, There :: node() | undefined) -> ok.
vm_blocked(_Process, _Port, _Here, _There) ->
    answer_without_library(ok).

%% @doc Fire an emulator's probe for an event that the controlling process has detected; the values
%% become text.
-spec vm_fire(atom(), [term()]) -> boolean().
vm_fire(_Name, _Values) ->
    answer_without_library(false).

%% @doc The tracer's (erl_tracer), asked before each trace event.
-spec enabled(TraceTag :: atom(), State :: atom(), Tracee :: pid() | port()) -> trace | discard | remove.
enabled(_TraceTag, _State, _Tracee) ->
    answer_without_library(discard).

%% @doc The tracer's, for each trace event.
-spec trace(TraceTag :: atom(), State :: atom(), Tracee :: pid() | port(), Term :: term(), Options :: map()) -> ok.
trace(_TraceTag, _State, _Tracee, _Term, _Options) ->
    answer_without_library(ok).

%% @doc Where a library of this application is, without its extension. A node into which another one loads the modules
%% (code:load_binary/3) has no file of them: there {pyusdt, priv} is a persistent term, the folder of the libraries.
-spec library_path(string()) -> file:filename().
library_path(Name) ->
    filename:join(persistent_term:get({pyusdt, priv}, filename:join(filename:dirname(filename:dirname(code:which(?MODULE))), "priv")), Name).

%% @doc The one line that says that a library could not be loaded.
-spec log_missing_library(file:filename(), {error, {atom(), string()}}) -> ok.
log_missing_library(Library, {error, {Reason, Text}}) ->
    pyusdt_server:log_warning("pyusdt: no probes in this node, ~ts can not be loaded (~p): ~ts", [Library, Reason, Text]).

on_load() ->
    Library = library_path("pyusdt_nif"),
    case erlang:load_nif(Library, 0) of
        ok -> ok;
        Error -> log_missing_library(Library, Error)
    end.

%% The answer of a function of the library without it.
answer_without_library(Answer) ->
    try
        erlang:nif_error(nif_not_loaded)
    catch
        error:nif_not_loaded -> Answer
    end.
