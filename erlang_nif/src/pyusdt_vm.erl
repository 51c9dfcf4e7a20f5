%% @doc The emulator's own probes on a stock OTP: processes, messages, garbage collection, ports,
%% functions.
%%
%% docs/reference/erlang-vm.md lists the probes (`erlang*:::process-spawn' …). Nothing is traced before
%% {@link enable/0} and a tracer that wants a probe. Then the fewest necessary flags and patterns
%% are set. They are removed after the tracer has ended.
-module(pyusdt_vm).

-export([enable/0, enable/1, disable/0, info/0, functions/1]).

-export_type([options/0, info/0]).

-type options() :: #{functions => [module()],           % modules whose functions, BIFs and NIFs are probes: []
                     rate => pos_integer() | infinity,  % events a second on one scheduler at most: 200000
                     loops => [mfa()],                  % whose returns are traced though they call themselves in tail position: []
                     depth => pos_integer(),            % calls whose returns are traced, open in one process: 10000
                     secrets => boolean(),              % values whose keys are names of secrets are shown: false
                     time => pos_integer() | infinity,  % milliseconds that it may run at most: an hour
                     unsafe => boolean(),               % flags of processes on OTP before 25.3 too: false
                     long => pos_integer(),             % milliseconds of a long collection or run: 100
                     large => pos_integer()}.           % words of a large heap: 10000000

-type info() :: #{given := [atom()], wanted := [atom()], armed := boolean(), refused := none | string(),
                  messages := [string()]}.
%% The probes of this node, those that tracers want, whether anything is traced for them, why not,
%% and the warnings since enable/1.

%% @doc Offer the probes. Nothing is traced, and nothing costs, until a tracer wants them.
-spec enable() -> ok | {error, term()}.
enable() ->
    enable(#{}).

-spec enable(options()) -> ok | {error, term()}.
enable(Options) ->
    case pyusdt_vm_server:start(Options) of
        {ok, _} -> ok;
        {error, Reason} -> {error, Reason}
    end.

%% @doc Trace nothing any more. The probes stay in the lists of tracers, and are silent.
-spec disable() -> ok.
disable() ->
    pyusdt_vm_server:stop().

-spec info() -> info() | {error, disabled}.
info() ->
    pyusdt_vm_server:info().

%% @doc The functions of this node at which a probe of functions, BIFs or NIFs may fire: for `pydtrace -l'.
-spec functions(Probe :: atom()) -> [{module(), [{atom(), arity()}]}].
functions(Probe) ->
    pyusdt_vm_trace_plan:functions_of_probe(Probe).
