%% @doc Probes for Erlang programs: real USDT probes that cost next to nothing while nobody traces them.
%%
%% `p' fires user_trace-i4s4 and `pn' fires user_trace-n<em>Number</em> with up to four integers, then up to four
%% strings; with them go the pid and the tag of the process. This is the interface of OTP's `dyntrace', which a module
%% of that name in this application also offers; see docs/erlang.md.
%%
%% In:  integers and iolists, in this order.
%% Out: true if the event was offered to a tracer; OTP's answers otherwise.
%% Always: an integer of more than 64 bits is 0, a string that is no iolist is NULL, a longer one than 1023 bytes is
%% cut; nothing of that is looked at while nobody traces. An argument in a place where it can be neither is a
%% function_clause, traced or not.
-module(pyusdt).

-export([available/0, enabled/0, enabled/1]).
-export([p/0, p/1, p/2, p/3, p/4, p/5, p/6, p/7, p/8]).
-export([pn/1, pn/2, pn/3, pn/4, pn/5, pn/6, pn/7, pn/8, pn/9]).
-export([user_trace_s1/1, user_trace_i4s4/9]).
-export([put_tag/1, get_tag/0, get_tag_data/0, spread_tag/1, restore_tag/1]).

-export_type([answer/0, probe_arg/0, number_of_probe/0, integer_maybe/0, iolist_maybe/0]).

-type answer() :: pyusdt_nif:answer().
-type probe_arg() :: integer() | iolist() | binary() | atom().
%% An atom stands for an absent string.
-type number_of_probe() :: 0..1023.
%% Probes are user_trace-n0 to user_trace-n950; the rest is `error', as in OTP.
-type integer_maybe() :: integer() | atom().
-type iolist_maybe() :: iolist() | binary() | atom().

%% @doc Whether probes can fire: false where the library could not be loaded.
-spec available() -> boolean().
available() ->
    pyusdt_nif:available().

%% @doc Whether anybody traces user_trace-i4s4: for arguments that are expensive to make.
-spec enabled() -> boolean().
enabled() ->
    pyusdt_nif:enabled().

%% @doc Whether anybody traces user_trace-n<em>Number</em>.
-spec enabled(number_of_probe()) -> answer().
enabled(Number) ->
    pyusdt_nif:enabled(Number).

-include("probe_calls.hrl").

%% @doc Fire user_trace-s1: one message. badarg, while enabled, if it is no iolist.
-spec user_trace_s1(iolist() | binary()) -> answer().
user_trace_s1(Message) ->
    pyusdt_nif:user_trace_s1(Message).

%% @doc Fire user_trace-i4s4 with a tag of the caller's and each value in its own place.
-spec user_trace_i4s4(binary() | undefined, integer_maybe(), integer_maybe(), integer_maybe(), integer_maybe(),
                      iolist_maybe(), iolist_maybe(), iolist_maybe(), iolist_maybe()) -> answer().
user_trace_i4s4(Tag, I1, I2, I3, I4, S1, S2, S3, S4) ->
    pyusdt_nif:user_trace_i4s4(Tag, I1, I2, I3, I4, S1, S2, S3, S4).

%% @doc Set the tag of the calling process, `undefined' takes it away. Returns the one before.
-spec put_tag(undefined | unicode:chardata()) -> binary() | undefined.
put_tag(Data) ->
    pyusdt_tag:put(Data).

-spec get_tag() -> binary() | undefined.
get_tag() ->
    pyusdt_tag:get().

%% @doc The tag of the calling process, or the one that came with its last message.
-spec get_tag_data() -> binary() | undefined.
get_tag_data() ->
    pyusdt_tag:get_data().

%% @doc Start or stop sending the tag along with messages. Returns the state before, for {@link restore_tag/1}.
-spec spread_tag(boolean()) -> pyusdt_tag:state().
spread_tag(On) ->
    pyusdt_tag:spread(On).

-spec restore_tag(pyusdt_tag:state()) -> true.
restore_tag(State) ->
    pyusdt_tag:restore(State).
