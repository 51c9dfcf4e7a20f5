%% @doc OTP's module of this name, with the probes of {@link pyusdt}: it needs no emulator built for
%% dynamic tracing.
%%
%% It replaces the module of runtime_tools: with `erl -pa' it is found first, and in a release the
%% start of the application pyusdt loads it over OTP's. It is outside src/ and the application does
%% not list it, because two applications of a release cannot have the same module. See
%% docs/reference/erlang.md.
%%
%% It has every export of OTP's. The erl_tracer callbacks are NIFs in a library of their own, since
%% the emulator accepts no others; they discard everything.
-module(dyntrace).

-export([available/0, user_trace_s1/1, user_trace_i4s4/9]).
-export([p/0, p/1, p/2, p/3, p/4, p/5, p/6, p/7, p/8]).
-export([pn/1, pn/2, pn/3, pn/4, pn/5, pn/6, pn/7, pn/8, pn/9]).
-export([put_tag/1, get_tag/0, get_tag_data/0, spread_tag/1, restore_tag/1]).
-export([trace/5, trace_call/5, trace_garbage_collection/5, trace_ports/5, trace_procs/5, trace_receive/5,
         trace_running_ports/5, trace_running_procs/5, trace_send/5]).
-export([enabled/3, enabled_call/3, enabled_garbage_collection/3, enabled_ports/3, enabled_procs/3,
         enabled_receive/3, enabled_running_ports/3, enabled_running_procs/3, enabled_send/3]).

-on_load(on_load/0).
-nifs([trace/5, trace_call/5, trace_garbage_collection/5, trace_ports/5, trace_procs/5, trace_receive/5,
       trace_running_ports/5, trace_running_procs/5, trace_send/5,
       enabled/3, enabled_call/3, enabled_garbage_collection/3, enabled_ports/3, enabled_procs/3,
       enabled_receive/3, enabled_running_ports/3, enabled_running_procs/3, enabled_send/3]).

-type answer() :: pyusdt:answer().
-type integer_maybe() :: pyusdt:integer_maybe().
-type iolist_maybe() :: pyusdt:iolist_maybe().

-spec available() -> boolean().
available() -> pyusdt:available().

-spec user_trace_s1(iolist() | binary()) -> answer().
user_trace_s1(Message) -> pyusdt:user_trace_s1(Message).

-spec user_trace_i4s4(binary() | undefined, integer_maybe(), integer_maybe(), integer_maybe(), integer_maybe(),
                      iolist_maybe(), iolist_maybe(), iolist_maybe(), iolist_maybe()) -> answer().
user_trace_i4s4(Tag, I1, I2, I3, I4, S1, S2, S3, S4) ->
    pyusdt:user_trace_i4s4(Tag, I1, I2, I3, I4, S1, S2, S3, S4).

-include("../src/probe_calls.hrl").

-spec put_tag(undefined | unicode:chardata()) -> binary() | undefined.
put_tag(Data) -> pyusdt:put_tag(Data).

-spec get_tag() -> binary() | undefined.
get_tag() -> pyusdt:get_tag().

-spec get_tag_data() -> binary() | undefined.
get_tag_data() -> pyusdt:get_tag_data().

-spec spread_tag(boolean()) -> pyusdt_tag:state().
spread_tag(On) -> pyusdt:spread_tag(On).

-spec restore_tag(pyusdt_tag:state()) -> true.
restore_tag(State) -> pyusdt:restore_tag(State).

%% The erl_tracer callbacks. Without the library only Erlang code calls them, with the same result.

-spec enabled(atom(), term(), term()) -> discard.
enabled(_TraceTag, _State, _Tracee) -> discard.

-spec enabled_call(atom(), term(), term()) -> discard.
enabled_call(_TraceTag, _State, _Tracee) -> discard.

-spec enabled_garbage_collection(atom(), term(), term()) -> discard.
enabled_garbage_collection(_TraceTag, _State, _Tracee) -> discard.

-spec enabled_ports(atom(), term(), term()) -> discard.
enabled_ports(_TraceTag, _State, _Tracee) -> discard.

-spec enabled_procs(atom(), term(), term()) -> discard.
enabled_procs(_TraceTag, _State, _Tracee) -> discard.

-spec enabled_receive(atom(), term(), term()) -> discard.
enabled_receive(_TraceTag, _State, _Tracee) -> discard.

-spec enabled_running_ports(atom(), term(), term()) -> discard.
enabled_running_ports(_TraceTag, _State, _Tracee) -> discard.

-spec enabled_running_procs(atom(), term(), term()) -> discard.
enabled_running_procs(_TraceTag, _State, _Tracee) -> discard.

-spec enabled_send(atom(), term(), term()) -> discard.
enabled_send(_TraceTag, _State, _Tracee) -> discard.

-spec trace(atom(), term(), term(), term(), map()) -> ok.
trace(_TraceTag, _State, _Tracee, _Term, _Opts) -> ok.

-spec trace_call(atom(), term(), term(), term(), map()) -> ok.
trace_call(_TraceTag, _State, _Tracee, _Term, _Opts) -> ok.

-spec trace_garbage_collection(atom(), term(), term(), term(), map()) -> ok.
trace_garbage_collection(_TraceTag, _State, _Tracee, _Term, _Opts) -> ok.

-spec trace_ports(atom(), term(), term(), term(), map()) -> ok.
trace_ports(_TraceTag, _State, _Tracee, _Term, _Opts) -> ok.

-spec trace_procs(atom(), term(), term(), term(), map()) -> ok.
trace_procs(_TraceTag, _State, _Tracee, _Term, _Opts) -> ok.

-spec trace_receive(atom(), term(), term(), term(), map()) -> ok.
trace_receive(_TraceTag, _State, _Tracee, _Term, _Opts) -> ok.

-spec trace_running_ports(atom(), term(), term(), term(), map()) -> ok.
trace_running_ports(_TraceTag, _State, _Tracee, _Term, _Opts) -> ok.

-spec trace_running_procs(atom(), term(), term(), term(), map()) -> ok.
trace_running_procs(_TraceTag, _State, _Tracee, _Term, _Opts) -> ok.

-spec trace_send(atom(), term(), term(), term(), map()) -> ok.
trace_send(_TraceTag, _State, _Tracee, _Term, _Opts) -> ok.

%% If pyusdt_nif has no library, it has logged that; this one is then not tried.
on_load() ->
    case pyusdt_nif:available() of
        true ->
            Library = pyusdt_nif:library_path("dyntrace"),
            case erlang:load_nif(Library, 0) of
                ok -> ok;
                Error -> pyusdt_nif:log_missing_library(Library, Error)
            end;
        false ->
            ok
    end.
