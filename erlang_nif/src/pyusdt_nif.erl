%% @doc The boundary to C: the enabled tests, and firing. Use {@link pyusdt}.
%%
%% In:  values as the caller of `pyusdt' or `dyntrace' gave them.
%% Out: events at the probe sites and in the rings of the tracers; OTP's answers.
%% Always: a call is bounded and converts nothing that nobody reads. Where the library can not be loaded the module
%% still can, says so once in the log, and answers false.
-module(pyusdt_nif).

-export([available/0, usdt/0, enabled/0, enabled/1, fire/2, fire/3, user_trace_i4s4/9, user_trace_s1/1]).
-export([check/1, define/3, fire_own/2, enabled_own/1]).
-export([library/1, without_library/2]).

-export_type([answer/0]).

-on_load(on_load/0).
-nifs([available/0, usdt/0, enabled/0, enabled/1, fire/2, fire/3, user_trace_i4s4/9, user_trace_s1/1,
       check/1, define/3, fire_own/2, enabled_own/1]).

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

%% @doc Make a probe of the application's own. Types are the numbers of include/pyusdt.h. Without the library it is
%% a reference that nothing comes of.
-spec define(Provider :: binary(), Name :: binary(), Types :: [byte()]) ->
          {ok, reference(), Path :: binary(), Why :: binary()} | {error, badarg | eexist | enomem, Message :: binary()}.
define(_Provider, _Name, _Types) ->
    not_loaded({ok, make_ref(), <<>>, <<"the library is not loaded">>}).

-spec fire_own(reference(), [term()]) -> answer().
fire_own(_Probe, _Values) ->
    not_loaded(false).

-spec enabled_own(reference()) -> boolean().
enabled_own(_Probe) ->
    not_loaded(false).

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
