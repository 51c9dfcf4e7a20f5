%% @doc Probes for events that Erlang and Elixir programs report anyway: `http:::request-done',
%% `db:::query-done', `log:::record' …
%%
%% The parts are events of telemetry (Phoenix, Ecto, Broadway, Cowboy), and logger. The providers
%% and probes are those of docs/reference/frameworks.md, the same as for Python's frameworks.
%%
%% Nothing is raised into the program. While nothing is traced, a hook only checks whether its probe
%% is wanted. Failures of a hook are counted (`info/0'). A missing library is no failure.
-module(pyusdt_instrument).

-export([enable/0, enable/1, disable/0, info/0]).
-export([parts/0, count_failures/2, apply_to/3, display_name/1]).

-export_type([part/0, options/0, info/0]).

-type part() :: phoenix | ecto | broadway | cowboy | telemetry | logger.
-type options() :: #{parts => [part()],      % all
                     repos => [[atom()]],    % telemetry prefixes of Ecto's repositories that run already: [shop, repo]
                     secrets => boolean(),   % telemetry:::event shows values that have names of secrets: false
                     events => [[atom()]]}.  % further names of events for telemetry:::event, before OTP 27
-type info() :: #{parts := [part()], events := [[atom()]], let_go := non_neg_integer(),
                  trouble := [{Where :: atom(), Times :: pos_integer(), Last :: {atom(), term()}}]}.
%% The enabled parts; the events of telemetry with a handler; the number of requests that were
%% forgotten, since their process ended before them; which hooks failed, how often, and with which
%% error.

%% @doc All parts.
-spec enable() -> ok | {error, term()}.
enable() ->
    enable(#{}).

%% @doc These parts, and those that are on already; again, for a library that was started since.
-spec enable(options()) -> ok | {error, term()}.
enable(Options) ->
    case pyusdt_instrument_server:start(Options) of
        {ok, _} ->
            _ = info(), % when it has done so
            ok;
        {error, {already_started, _}} -> pyusdt_instrument_server:enable_more(Options);
        {error, Reason} -> {error, Reason}
    end.

%% @doc No part any more. The probes stay in the lists of tracers, and are silent.
-spec disable() -> ok.
disable() ->
    pyusdt_instrument_server:stop().

-spec info() -> info() | {error, disabled}.
info() ->
    pyusdt_instrument_server:info().

-spec parts() -> [part()].
parts() ->
    [phoenix, ecto, broadway, cowboy, telemetry, logger].

%% @private What the function returns, or `failed', which is counted: the program must not notice.
-spec count_failures(atom(), fun(() -> Result)) -> Result | failed.
count_failures(Where, Function) ->
    try Function()
    catch Class:Reason ->
        pyusdt_instrument_server:count_failure(Where, Class, Reason),
        failed
    end.

%% @private Of a module that need not be there.
-spec apply_to(module(), atom(), [term()]) -> term().
apply_to(Module, Function, Arguments) ->
    apply(Module, Function, Arguments).

%% @private A name as people write it: Elixir's modules without their prefix.
-spec display_name(atom()) -> binary().
display_name(Name) ->
    case atom_to_binary(Name) of
        <<"Elixir.", Rest/binary>> -> Rest;
        Text -> Text
    end.
