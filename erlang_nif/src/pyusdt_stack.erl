%% @private
%% The tag of a process, and its stack if a session wants it for an event.
%%
%% The result is the tag, or {Tag, Stack}. The stack is Erlang's own list without the functions of
%% the probe. The emulator gives at most backtrace_depth frames (8;
%% `erlang:system_flag(backtrace_depth, N)' changes that).
-module(pyusdt_stack).

-export([context/0, context/1]).

-type context() :: pyusdt_tag:tag() | undefined | {pyusdt_tag:tag() | undefined, [tuple()]}.

-spec context() -> context().
context() ->
    add_stack(pyusdt_nif:wants_stack()).

-spec context(term()) -> context().
context(Number) ->
    add_stack(pyusdt_nif:wants_stack(Number)).

add_stack(false) ->
    pyusdt_tag:of_event();
add_stack(true) ->
    {current_stacktrace, Stack} = process_info(self(), current_stacktrace),
    {pyusdt_tag:of_event(), lists:dropwhile(fun is_own_frame/1, Stack)}.

is_own_frame({Module, _Function, _Arity, _Location}) ->
    lists:member(Module, [?MODULE, pyusdt, dyntrace]).
