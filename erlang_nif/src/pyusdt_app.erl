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
    replace_dyntrace(pyusdt_nif:library_path("otp/dyntrace")),
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
    {ok, {#{}, child_specs(vm, pyusdt_vm_server) ++ child_specs(instrument, pyusdt_instrument_server)}}.

child_specs(Name, Server) ->
    case application:get_env(pyusdt, Name, false) of
        false -> [];
        true -> [child_spec(Name, Server, #{})];
        Options -> [child_spec(Name, Server, Options)]
    end.

child_spec(Name, Server, Options) ->
    #{id => Name, start => {Server, start_link, [Options]}}.

replace_dyntrace(Beam) ->
    code:soft_purge(dyntrace),
    case code:load_abs(Beam) of
        {module, dyntrace} ->
            ok;
        {error, Reason} ->
            logger:warning("pyusdt: dyntrace stays OTP's, ~ts.beam can not be loaded: ~p", [Beam, Reason])
    end.
