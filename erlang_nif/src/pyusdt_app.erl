%% @doc The application: its start puts our `dyntrace' in the place of OTP's.
%%
%% A release that contains runtime_tools has loaded OTP's module by then, and the code path names that one; so ours is
%% loaded from priv/otp, whichever is there. Its one process is that of the emulator's own probes ({@link pyusdt_vm}),
%% where the application's environment has `{vm, true}', or a map of its options.
-module(pyusdt_app).

-behaviour(application).
-behaviour(supervisor).

-export([start/2, stop/1]).
-export([init/1]).

-spec start(application:start_type(), term()) -> {ok, pid()} | {error, term()}.
start(_Type, _Arguments) ->
    take_over(pyusdt_nif:library("otp/dyntrace")),
    case supervisor:start_link({local, ?MODULE}, ?MODULE, []) of
        {ok, Pid} -> {ok, Pid};
        {error, Reason} -> {error, Reason}
    end.

%% The module stays: code that calls it goes on doing so.
-spec stop(term()) -> ok.
stop(_State) ->
    ok.

-spec init([]) -> {ok, {supervisor:sup_flags(), [supervisor:child_spec()]}}.
init([]) ->
    {ok, {#{}, children(application:get_env(pyusdt, vm, false))}}.

children(false) -> [];
children(true) -> children(#{});
children(Options) -> [#{id => vm, start => {pyusdt_vm_server, start_link, [Options]}}].

take_over(Beam) ->
    code:soft_purge(dyntrace),
    case code:load_abs(Beam) of
        {module, dyntrace} ->
            ok;
        {error, Reason} ->
            logger:warning("pyusdt: dyntrace stays OTP's, ~ts.beam can not be loaded: ~p", [Beam, Reason])
    end.
