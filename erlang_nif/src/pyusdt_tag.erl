%% @doc The tag of a process, which OTP's emulator has only if it is built for dynamic tracing.
%%
%% The tag is UTF-8 in the process dictionary. A sequential-trace token of the user stays unchanged;
%% ours has the label `{pyusdt_tag, Tag}' and no flags, so that it traces nothing.
%%
%% How a tag spreads on a stock emulator: each message carries the sender's token, which becomes the
%% receiver's. If the emulator's probes are offered (pyusdt_vm), put/1 is enough for that. A message
%% without a token removes the receiver's. So a process that talks with untagged processes calls
%% `spread_tag(true)' again before it sends. A receiver passes the token on (OTP's own passes a tag
%% on only from a process that asked for it). The emulator gives a token to spawned processes, too.
%%
%% If the node follows tags (`{pyusdt, [{follow_tags, true}]}'), every tag spreads, and the events of a process without a tag of its
%% own have the tag of its last message.
-module(pyusdt_tag).

-export([put/1, get/0, get_data/0, of_event/0, follow/1, spread/1, restore/1]).

-export_type([tag/0, state/0]).

-define(TAG, '$pyusdt_tag').
-define(SPREADING, '$pyusdt_spreading').
-define(LABEL, pyusdt_tag).
-define(FOLLOWS, {pyusdt, follow_tags}).

%% The bits of a state, as OTP has them.
-define(FLAG_PERMANENT, 1).
-define(FLAG_SPREADING, 2).

-type tag() :: binary().
-type state() :: true | {non_neg_integer(), tag() | []}.
%% A stock emulator's own functions only know `true'.

%% @doc Set the tag, `undefined' takes it away. Returns the one before.
-spec put(undefined | unicode:chardata()) -> tag() | undefined.
put(undefined) ->
    Before = erlang:erase(?TAG),
    stop_spreading(),
    Before;
put(Data) ->
    Tag = encode(Data),
    Before = erlang:put(?TAG, Tag),
    case is_spread() of
        true -> set_token(Tag);
        false -> ok
    end,
    Before.

%% A tracer of the emulator sees a tag only in a token. So does OTP's file server, which works for
%% this process.
is_spread() ->
    erlang:get(?SPREADING) =:= true orelse follows() orelse whereis(pyusdt_vm_server) =/= undefined.

-spec get() -> tag() | undefined.
get() ->
    erlang:get(?TAG).

%% @doc The tag of this process's events.
-spec of_event() -> tag() | undefined.
of_event() ->
    case erlang:get(?TAG) of
        undefined -> case follows() of true -> received_tag(); false -> undefined end;
        Tag -> Tag
    end.

%% @doc Whether this node follows tags, for events to come; `default': what its configuration says.
-spec follow(boolean() | default) -> ok.
follow(default) ->
    follow(is_configured());
follow(On) when is_boolean(On) ->
    persistent_term:put(?FOLLOWS, On).

follows() ->
    case persistent_term:get(?FOLLOWS, unknown) of
        unknown -> follow(default), follows();
        On -> On
    end.

%% Also where the application is not started, and its environment is not read: `erl -pyusdt follow_tags true'.
is_configured() ->
    case application:get_env(pyusdt, follow_tags) of
        {ok, On} -> On =:= true;
        undefined ->
            Given = case init:get_argument(pyusdt) of {ok, All} -> All; error -> [] end,
            lists:member(["follow_tags", "true"], Given)
    end.

%% @doc The process's own tag, or the one of its last message.
-spec get_data() -> tag() | undefined.
get_data() ->
    case erlang:get(?TAG) of
        undefined -> received_tag();
        Tag -> Tag
    end.

%% @doc Start or stop sending the tag with messages. Returns the state before, for {@link restore/1}.
-spec spread(boolean()) -> state().
spread(On) when is_boolean(On) ->
    Tag = get_data(),
    Before = state(Tag),
    case On of
        false -> stop_spreading();
        true when Tag =:= undefined -> ok;
        true -> start_spreading(Tag)
    end,
    Before;
spread(On) ->
    error(badarg, [On]).

-spec restore(state()) -> true.
restore(true) ->
    true;
restore({Flags, []}) when is_integer(Flags) ->
    erlang:erase(?TAG),
    stop_spreading(),
    true;
restore({Flags, Tag}) when is_integer(Flags), is_binary(Tag) ->
    case Flags band ?FLAG_PERMANENT of
        0 -> erlang:erase(?TAG);
        _ -> erlang:put(?TAG, Tag)
    end,
    case Flags band ?FLAG_SPREADING of
        0 -> stop_spreading();
        _ -> start_spreading(Tag)
    end,
    case Flags band ?FLAG_PERMANENT of
        0 -> set_token(Tag); % as if it had come with a message
        _ -> ok
    end,
    true;
restore(State) ->
    error(badarg, [State]).

-spec encode(unicode:chardata()) -> tag().
encode(Data) ->
    case unicode:characters_to_binary(Data) of
        Tag when is_binary(Tag) -> Tag;
        _NoText -> error(badarg, [Data])
    end.

state(undefined) ->
    {0, []};
state(Tag) ->
    Permanent = case erlang:get(?TAG) of undefined -> 0; _ -> ?FLAG_PERMANENT end,
    Spreading = case erlang:get(?SPREADING) of true -> ?FLAG_SPREADING; _ -> 0 end,
    {Permanent bor Spreading, Tag}.

start_spreading(Tag) ->
    erlang:put(?SPREADING, true),
    set_token(Tag).

stop_spreading() ->
    erlang:erase(?SPREADING),
    case received_tag() of
        undefined -> ok;
        _Ours -> _ = seq_trace:set_token([]), ok
    end.

%% The tag in the token, whether a message brought it or it was put there to be sent.
received_tag() ->
    case token_label() of
        {?LABEL, Tag} -> Tag;
        _OfTheUserOrNone -> undefined
    end.

set_token(Tag) ->
    _ = case token_label() of
        none -> seq_trace:set_token(label, {?LABEL, Tag});
        {?LABEL, _} -> seq_trace:set_token(label, {?LABEL, Tag});
        _OfTheUser -> ok
    end,
    ok.

%% The label of the process's token; `none' without a token.
token_label() ->
    case seq_trace:get_token() of
        [] -> none;
        _ -> element(2, seq_trace:get_token(label))
    end.
