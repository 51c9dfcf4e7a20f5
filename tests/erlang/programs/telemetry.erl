%% Stands in for the library telemetry, with the functions of its documentation that are called: handlers run in the process that
%% executes an event, and one that fails is taken away. Each event also goes to the process `telemetry_listener', if there is one.
-module(telemetry).
-export([attach_many/4, detach/1, list_handlers/1, execute/3]).

attach_many(Id, Events, Function, Config) ->
    there(),
    case ets:match(?MODULE, {'_', Id, '_', '_'}) of
        [] -> ets:insert(?MODULE, [{Event, Id, Function, Config} || Event <- Events]), ok;
        _ -> {error, already_exists}
    end.

detach(Id) ->
    case ets:match_delete(?MODULE, {'_', Id, '_', '_'}) of
        true -> ok
    end.

list_handlers(Prefix) ->
    there(),
    [#{id => Id, event_name => Event, function => Function, config => Config}
     || {Event, Id, Function, Config} <- ets:tab2list(?MODULE), lists:prefix(Prefix, Event)].

execute(Name, Measurements, Metadata) ->
    there(),
    [try Function(Name, Measurements, Metadata, Config)
     catch _:_ -> detach(Id)
     end || {_, Id, Function, Config} <- ets:lookup(?MODULE, Name)],
    _ = whereis(telemetry_listener) =/= undefined andalso (telemetry_listener ! {telemetry, Name, Measurements, Metadata}),
    ok.

%% The table, of a process that stays.
there() ->
    case ets:whereis(?MODULE) of
        undefined ->
            {_, Monitor} = spawn_monitor(fun() ->
                spawn(fun() -> ets:new(?MODULE, [named_table, public, bag]), timer:sleep(infinity) end),
                (fun Wait() -> ets:whereis(?MODULE) =/= undefined orelse begin timer:sleep(1), Wait() end end)()
            end),
            receive {'DOWN', Monitor, process, _, normal} -> ok end;
        _ ->
            ok
    end.
