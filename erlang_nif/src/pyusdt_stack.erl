%% @private
%% The stack of a process for an event that somebody wants with it, beside its tag.
%%
%% In:  which probe it is.
%% Out: the tag; {Tag, Stack} where a session wants the stack: erlang's own list, without the functions of the probe.
%% Always: nothing is looked up where no session wants a stack. The emulator shows no more frames than its
%% backtrace_depth (8, unless `erlang:system_flag(backtrace_depth, N)' says more).
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
    pyusdt_tag:get();
add_stack(true) ->
    {current_stacktrace, Stack} = process_info(self(), current_stacktrace),
    {pyusdt_tag:get(), lists:dropwhile(fun is_own_frame/1, Stack)}.

is_own_frame({Module, _Function, _Arity, _Location}) ->
    lists:member(Module, [?MODULE, pyusdt, dyntrace]).
