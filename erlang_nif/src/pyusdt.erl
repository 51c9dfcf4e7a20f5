%% @doc Probes for Erlang programs: real USDT probes that cost almost nothing while they are not
%% traced.
%%
%% `p' fires user_trace-i4s4 and `pn' fires user_trace-n<em>Number</em> with up to four integers,
%% then up to four strings. Each event also has the pid and the tag of the process. This is the
%% interface of OTP's `dyntrace', which this application also has as a module of that name; see
%% docs/reference/erlang.md.
%%
%% The result is true if the event was offered to a tracer, else OTP's answers. An integer of more
%% than 64 bits is 0, a string that is no iolist is NULL, and a string of more than 1023 bytes is
%% truncated. None of that is checked while nothing is traced. An argument that can be neither
%% integer nor string at its place is a function_clause, traced or not.
-module(pyusdt).

-export([available/0, enabled/0, enabled/1]).
-export([p/0, p/1, p/2, p/3, p/4, p/5, p/6, p/7, p/8]).
-export([pn/1, pn/2, pn/3, pn/4, pn/5, pn/6, pn/7, pn/8, pn/9]).
-export([user_trace_s1/1, user_trace_i4s4/9]).
-export([provider/1, probe/3, fire/2, info/1]).
-export([format_error/2, reference/1]).
-export([put_tag/1, get_tag/0, get_tag_data/0, spread_tag/1, restore_tag/1, follow_tags/1]).

-export_type([provider/0, probe/0, arg_type/0, argument/0]).
-export_type([answer/0, probe_arg/0, number_of_probe/0, integer_maybe/0, iolist_maybe/0]).

-type answer() :: pyusdt_nif:answer().
-type probe_arg() :: integer() | iolist() | binary() | atom().
%% An atom is an absent string.
-type number_of_probe() :: 0..1023.
%% Probes are user_trace-n0 to user_trace-n950; the rest is `error', as in OTP.
-type integer_maybe() :: integer() | atom().
-type iolist_maybe() :: iolist() | binary() | atom().

-opaque provider() :: {?MODULE, Name :: binary()}.
-record(probe, {reference :: reference(), provider :: binary(), name :: binary(), types :: [argument()],
                path :: binary(), reason :: binary()}).
-opaque probe() :: #probe{}.
-type arg_type() :: int | int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64
                  | boolean | float | float32 | string | term.
%% `int' is int64, `boolean' uint8; `float' has 64 bits. A `string' is an iolist, a `term' anything.
-type argument() :: arg_type() | {Name :: atom() | unicode:chardata(), arg_type()}.
%% `{route, string}' is arg.route in D.

%% @doc Whether probes can fire: false if the library could not be loaded.
-spec available() -> boolean().
available() ->
    pyusdt_nif:available().

%% @doc Whether user_trace-i4s4 is traced: for arguments that are expensive to make.
-spec enabled() -> boolean().
enabled() ->
    pyusdt_nif:enabled().

%% @doc Whether user_trace-n<em>Number</em>, or a probe of an application provider, is traced.
-spec enabled(number_of_probe() | probe()) -> answer().
enabled(#probe{reference = Reference}) ->
    pyusdt_nif:probe_enabled(Reference);
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

%% @doc An application provider. Its name is a letter or underscore, then letters, digits and
%% underscores, at most 40, without a digit at the end, since D appends the process id. Else the
%% error `badarg', with the rule as error information.
-spec provider(unicode:chardata()) -> provider().
provider(Name) ->
    case check_provider(Name) of
        {?MODULE, _} = Provider -> Provider;
        {error, Reason, Message} -> erlang:error(Reason, [Name], error_information(Message))
    end.

%% @doc A probe of a provider, with at most twelve arguments of these types; made if it does not
%% exist yet. The name is D's (`"order-placed"') or a note's (`"order__placed"'). An error:
%% `badarg', an invalid name or type; `eexist', a probe of that name has other types or names of
%% arguments; `enomem'. The first such probe of a user writes a file: store the probe, in a
%% persistent_term for example.
-spec probe(provider(), unicode:chardata(), [argument()]) -> probe().
probe({?MODULE, Provider} = Given, Name, Types) when is_list(Types) ->
    case define_probe(Provider, Name, Types) of
        #probe{} = Probe -> Probe;
        {error, Reason, Message} -> erlang:error(Reason, [Given, Name, Types], error_information(Message))
    end;
probe(Provider, Name, Types) ->
    error(badarg, [Provider, Name, Types]).

check_provider(Name) ->
    try
        Binary = read_name(Name),
        case pyusdt_nif:check_provider(Binary) of
            ok -> {?MODULE, Binary};
            Error -> Error
        end
    catch throw:Wrong -> {error, badarg, Wrong}
    end.

define_probe(Provider, Name, Types) ->
    try
        Dashed = binary:replace(read_name(Name), <<"__">>, <<"-">>, [global]),
        case pyusdt_nif:define_probe(Provider, Dashed, lists:map(fun encode_argument/1, Types)) of
            {ok, Reference, Path, Why} ->
                #probe{reference = Reference, provider = Provider, name = Dashed, types = Types, path = Path, reason = Why};
            Error ->
                Error
        end
    catch throw:Wrong -> {error, badarg, Wrong}
    end.

read_name(Name) ->
    try unicode:characters_to_binary(Name) of
        Binary when is_binary(Binary) -> Binary;
        _NoText -> throw("a name is text")
    catch error:badarg -> throw("a name is text")
    end.

%% The text of an error in the shell and in crash reports (EEP 54).
error_information(Message) ->
    [{error_info, #{cause => Message}}].

%% @private
-spec format_error(term(), list()) -> #{general => unicode:chardata()}.
format_error(_Reason, [{_Module, _Function, _Arguments, Information} | _]) ->
    #{cause := Message} = proplists:get_value(error_info, Information),
    #{general => Message}.

encode_argument({Name, Type}) when is_atom(Name) -> {encode_type(Type), atom_to_binary(Name)};
encode_argument({Name, Type}) -> {encode_type(Type), read_name(Name)};
encode_argument(Type) -> encode_type(Type).

%% The numbers of include/pyusdt.h: the kind, and the size in bytes.
encode_type(int8) -> 16#21;
encode_type(int16) -> 16#22;
encode_type(int32) -> 16#24;
encode_type(int64) -> 16#28;
encode_type(int) -> 16#28;
encode_type(uint8) -> 16#11;
encode_type(uint16) -> 16#12;
encode_type(uint32) -> 16#14;
encode_type(uint64) -> 16#18;
encode_type(boolean) -> 16#11;
encode_type(float32) -> 16#34;
encode_type(float) -> 16#38;
encode_type(string) -> 16#48;
encode_type(term) -> 16#58;
encode_type(Other) -> throw(io_lib:format("~0tp is no type of an argument", [Other])).

%% @doc Fire a probe of an application provider. Integers are taken modulo 2^bits (0 if they have
%% more than 64), true and false are 1 and 0; for a float argument anything but a number is NaN;
%% strings and terms are truncated at 1023 bytes, terms visibly. `undefined', except for a term, and
%% a missing value are absent: 0, NULL. More values than the probe has arguments: `badarg', while it
%% is traced.
-spec fire(probe(), [term()]) -> answer().
fire(#probe{reference = Reference}, Values) ->
    pyusdt_nif:fire_probe(Reference, Values).

%% @private
-spec reference(probe()) -> reference().
reference(#probe{reference = Reference}) ->
    Reference.

%% @doc Describes a probe: its names and types; the object in which USDT tracers find it, or why
%% there is none.
-spec info(probe()) -> #{provider := binary(), name := binary(), types := [argument()],
                         path => binary(), reason => binary()}.
info(#probe{provider = Provider, name = Name, types = Types, path = Path, reason = Reason}) ->
    Known = #{provider => Provider, name => Name, types => Types},
    case Path of
        <<>> -> Known#{reason => Reason};
        _ -> Known#{path => Path}
    end.

%% @doc Set the tag of the calling process, `undefined' takes it away. Returns the one before.
-spec put_tag(undefined | unicode:chardata()) -> binary() | undefined.
put_tag(Data) ->
    pyusdt_tag:put(Data).

-spec get_tag() -> binary() | undefined.
get_tag() ->
    pyusdt_tag:get().

%% @doc The tag of the calling process, or the one of its last message.
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

%% @doc Whether all tags of this node go on with messages and to spawned processes, and show in the events there. The option
%% `{pyusdt, [{follow_tags, true}]}' does the same from the node's start on.
-spec follow_tags(boolean()) -> ok.
follow_tags(On) when is_boolean(On) ->
    pyusdt_tag:follow(On);
follow_tags(On) ->
    error(badarg, [On]).
