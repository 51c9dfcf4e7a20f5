%% @doc The application: its start replaces OTP's module `dyntrace' by ours.
%%
%% A release that contains runtime_tools has loaded OTP's module before, and the code path names it;
%% so ours is loaded from priv/otp. The application runs a process for the emulator's probes ({@link
%% pyusdt_vm}) if its environment has `{vm, true}', and one for the probes in libraries ({@link
%% pyusdt_instrument}) if it has `{instrument, true}'. Instead of true there may be a map of
%% options.
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

%% The module stays, so code that calls it continues to work.
-spec stop(term()) -> ok.
stop(_State) ->
    ok.

-spec init([]) -> {ok, {supervisor:sup_flags(), [supervisor:child_spec()]}}.
init([]) ->
    ok = pyusdt_tag:follow(default),
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
            pyusdt_server:log_warning("pyusdt: dyntrace stays OTP's, ~ts.beam can not be loaded: ~p", [Beam, Reason])
    end.
