%% @doc The boundary to C: the enabled tests, and firing. Use {@link pyusdt}.
%%
%% In:  values as the caller of `pyusdt' or `dyntrace' gave them.
%% Out: events at the probe sites and in the rings of the tracers; OTP's answers.
%% Always: a call is bounded and converts nothing that nobody reads. Where the library can not be loaded the module
%% still can, says so once in the log, and answers false.
-module(pyusdt_nif).

-export([available/0, usdt/0, enabled/0, enabled/1, wants_stack/0, wants_stack/1, fire/2, fire/3, user_trace_i4s4/9, user_trace_s1/1]).
-export([check/1, define/3, fire_own/2, enabled_own/1, telemetry_probe/1]).
-export([vm_define/1, vm_wanted/0, vm_tend/0, vm_open/1, vm_functions/3, vm_watch/1,
         vm_control/2, vm_over/0, vm_port/3, vm_peer/3, vm_blocked/4, vm_fire/2, enabled/3, trace/5]).
-export([library/1, without_library/2]).

-export_type([answer/0]).

-on_load(on_load/0).
-nifs([available/0, usdt/0, enabled/0, enabled/1, wants_stack/0, wants_stack/1, fire/2, fire/3, user_trace_i4s4/9, user_trace_s1/1,
       check/1, define/3, fire_own/2, enabled_own/1, telemetry_probe/1,
       vm_define/1, vm_wanted/0, vm_tend/0, vm_open/1, vm_functions/3, vm_watch/1,
       vm_control/2, vm_over/0, vm_port/3, vm_peer/3, vm_blocked/4, vm_fire/2, enabled/3, trace/5]).

-type answer() :: true | false | error | badarg.
%% Offered to a tracer, nobody wants it, no such probe, or an impossible argument.

%% @doc Whether the library is loaded, so that probes can fire.
-spec available() -> boolean().
available() ->
    not_loaded(false).

%% @doc Whether tracers other than pydtrace see the probes (USDT).
-spec usdt() -> boolean().
usdt() ->
    not_loaded(false).

%% @doc Whether anybody wants user_trace-i4s4.
-spec enabled() -> boolean().
enabled() ->
    not_loaded(false).

%% @doc Whether anybody wants user_trace-n<em>Number</em>.
-spec enabled(term()) -> answer().
enabled(_Number) ->
    not_loaded(false).

%% @doc Whether a session wants the stack of who fires user_trace-i4s4.
-spec wants_stack() -> boolean().
wants_stack() ->
    not_loaded(false).

%% @doc The same of user_trace-n<em>Number</em>.
-spec wants_stack(term()) -> boolean().
wants_stack(_Number) ->
    not_loaded(false).

%% @doc Fire user_trace-i4s4. Of the values, integers from the left, at most four, are its integers.
-spec fire(Tag :: term(), Values :: [term()]) -> answer().
fire(_Tag, _Values) ->
    not_loaded(false).

%% @doc Fire user_trace-n<em>Number</em>.
-spec fire(Number :: term(), Tag :: term(), Values :: [term()]) -> answer().
fire(_Number, _Tag, _Values) ->
    not_loaded(false).

-spec user_trace_i4s4(term(), term(), term(), term(), term(), term(), term(), term(), term()) -> answer().
user_trace_i4s4(_Tag, _I1, _I2, _I3, _I4, _S1, _S2, _S3, _S4) ->
    not_loaded(false).

-spec user_trace_s1(term()) -> answer().
user_trace_s1(_Message) ->
    not_loaded(false).

%% @doc Whether a provider can have this name. Without the library any can.
-spec check(Provider :: binary()) -> ok | {error, badarg, Message :: binary()}.
check(_Provider) ->
    not_loaded(ok).

%% @doc Make a probe of the application's own. Types are the numbers of include/pyusdt.h, alone or with what the argument is
%% called. Without the library it is a reference that nothing comes of.
-spec define(Provider :: binary(), Name :: binary(), [byte() | {byte(), binary()}]) ->
          {ok, reference(), Path :: binary(), Why :: binary()} | {error, badarg | eexist | enomem, Message :: binary()}.
define(_Provider, _Name, _Types) ->
    not_loaded({ok, make_ref(), <<>>, <<"the library is not loaded">>}).

%% @doc The probe that the tracer of telemetry:execute/3 fires from now on. False: none of this library's.
-spec telemetry_probe(reference()) -> boolean().
telemetry_probe(_Probe) ->
    not_loaded(false).

-spec fire_own(reference(), [term()]) -> answer().
fire_own(_Probe, _Values) ->
    not_loaded(false).

-spec enabled_own(reference()) -> boolean().
enabled_own(_Probe) ->
    not_loaded(false).

%% ---- the emulator's own probes (pyusdt_vm_server) ----

%% @doc Make these probes of the emulator's.
-spec vm_define([atom()]) -> ok | {error, Message :: string()}.
vm_define(_Names) ->
    not_loaded({error, "the library is not loaded"}).

%% @doc Those that anybody wants.
-spec vm_wanted() -> [atom()].
vm_wanted() ->
    not_loaded([]).

%% @doc Set up sessions that are new and look whether their tracers live; the probes of which a sequential trace token
%% is read.
-spec vm_tend() -> [atom()].
vm_tend() ->
    not_loaded([]).

%% @doc Whether anybody wants this probe of functions without naming a module.
-spec vm_open(atom()) -> boolean().
vm_open(_Probe) ->
    not_loaded(false).

%% @doc Those of a module's functions at which anybody wants this probe who names the module.
-spec vm_functions(atom(), module(), [{atom(), arity()}]) -> [{atom(), arity()}].
vm_functions(_Probe, _Module, _Functions) ->
    not_loaded([]).

%% @doc The controlling process is sent `changed' when tracers want something else, until it says false; false: it is not.
-spec vm_watch(boolean()) -> boolean().
vm_watch(_On) ->
    not_loaded(false).

%% @doc The caller is the controlling process. Whether flags of processes are set, and how many events a second one
%% scheduler may have (0: any number).
-spec vm_control(Processes :: boolean(), Rate :: non_neg_integer()) -> ok.
vm_control(_Processes, _Rate) ->
    not_loaded(ok).

%% @doc Whether there were too many events on one scheduler, and in how many microseconds; it begins anew.
-spec vm_over() -> false | {Events :: pos_integer(), Microseconds :: pos_integer()}.
vm_over() ->
    not_loaded(false).

%% @doc A port that was there before it was traced.
-spec vm_port(port(), Owner :: pid(), Name :: string()) -> ok.
vm_port(_Port, _Owner, _Name) ->
    not_loaded(ok).

%% @doc Where a socket that was accepted, or there before it was traced, is connected to.
-spec vm_peer(port(), inet:ip_address(), inet:port_number()) -> ok.
vm_peer(_Port, _Ip, _Number) ->
    not_loaded(ok).

%% @doc The process is suspended, since the port is busy; the names of two nodes, where it is one of the distribution.
-spec vm_blocked(pid(), port(), Here :: node() | undefined, There :: node() | undefined) -> ok.
vm_blocked(_Process, _Port, _Here, _There) ->
    not_loaded(ok).

%% @doc Fire a probe of the emulator's that the controlling process was told of; the values become text.
-spec vm_fire(atom(), [term()]) -> boolean().
vm_fire(_Name, _Values) ->
    not_loaded(false).

%% @doc The tracer's (erl_tracer), asked before each trace event.
-spec enabled(TraceTag :: atom(), State :: atom(), Tracee :: pid() | port()) -> trace | discard | remove.
enabled(_TraceTag, _State, _Tracee) ->
    not_loaded(discard).

%% @doc The tracer's, for each trace event.
-spec trace(TraceTag :: atom(), State :: atom(), Tracee :: pid() | port(), Term :: term(), Options :: map()) -> ok.
trace(_TraceTag, _State, _Tracee, _Term, _Options) ->
    not_loaded(ok).

%% @doc Where a library of this application is, without its extension.
-spec library(string()) -> file:filename().
library(Name) ->
    filename:join([filename:dirname(filename:dirname(code:which(?MODULE))), "priv", Name]).

%% @doc The one line that says that a library could not be loaded.
-spec without_library(file:filename(), {error, {atom(), string()}}) -> ok.
without_library(Library, {error, {Reason, Text}}) ->
    logger:warning("pyusdt: no probes in this node, ~ts can not be loaded (~p): ~ts", [Library, Reason, Text]).

on_load() ->
    Library = library("pyusdt_nif"),
    case erlang:load_nif(Library, 0) of
        ok -> ok;
        Error -> without_library(Library, Error)
    end.

%% What a function of the library answers without it.
not_loaded(Answer) ->
    try
        erlang:nif_error(nif_not_loaded)
    catch
        error:nif_not_loaded -> Answer
    end.
