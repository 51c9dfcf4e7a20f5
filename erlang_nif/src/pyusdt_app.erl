%% @doc The application: its start puts our `dyntrace' in the place of OTP's.
%%
%% A release that contains runtime_tools has loaded OTP's module by then, and the code path names that one; so ours is
%% loaded from priv/otp, whichever is there. Its processes are that of the emulator's own probes ({@link pyusdt_vm}), where
%% the application's environment has `{vm, true}', and that of the probes in libraries ({@link pyusdt_instrument}), where it
%% has `{instrument, true}'; or maps of their options.
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
    {ok, {#{}, children(vm, pyusdt_vm_server) ++ children(instrument, pyusdt_instrument_server)}}.

children(Name, Server) ->
    case application:get_env(pyusdt, Name, false) of
        false -> [];
        true -> [child(Name, Server, #{})];
        Options -> [child(Name, Server, Options)]
    end.

child(Name, Server, Options) ->
    #{id => Name, start => {Server, start_link, [Options]}}.

take_over(Beam) ->
    code:soft_purge(dyntrace),
    case code:load_abs(Beam) of
        {module, dyntrace} ->
            ok;
        {error, Reason} ->
            logger:warning("pyusdt: dyntrace stays OTP's, ~ts.beam can not be loaded: ~p", [Beam, Reason])
    end.
