%% @doc A handler of logger: fires log:::record for each event that passes the program's levels.
%%
%% The level is the one of Python's logging, so that one script serves both; then the module or the
%% domain, and the message. Elixir's Logger is included. While nothing is traced, a filter stops the
%% event first.
-module(pyusdt_logger_h).

-export([add/0, remove/0]).
-export([filter/2, log/2, level/1]).

-define(MOST, 1023). % bytes of a string that a probe carries

-spec add() -> ok | {error, term()}.
add() ->
    Filter = {pyusdt, {fun ?MODULE:filter/2, []}},
    case logger:add_handler(pyusdt, ?MODULE, #{level => all, filters => [Filter], filter_default => log}) of
        {error, {already_exist, _}} -> ok;
        Result -> Result
    end.

-spec remove() -> ok.
remove() ->
    _ = logger:remove_handler(pyusdt),
    ok.

-spec filter(logger:log_event(), term()) -> ignore | stop.
filter(_Event, _) ->
    case pyusdt_framework_probes:is_wanted(log, record) of
        true -> ignore;
        false -> stop
    end.

-spec log(logger:log_event(), logger:handler_config()) -> ok.
log(Event, _Config) ->
    _ = pyusdt_instrument:count_failures(logger, fun() -> fire_record(Event) end),
    ok.

fire_record(#{level := Level, meta := Meta} = Event) ->
    Message = logger_formatter:format(Event, #{template => [msg], single_line => false, chars_limit => ?MOST}),
    pyusdt_framework_probes:fire(log, record, [level(Level), logger_name(Meta), unicode:characters_to_binary(Message)]).

logger_name(#{mfa := {Module, _, _}}) -> pyusdt_instrument:display_name(Module);
logger_name(#{domain := Domain}) -> lists:join($., [atom_to_binary(Each) || Each <- Domain]);
logger_name(_) -> <<>>.

%% @private
-spec level(logger:level()) -> pos_integer().
level(debug) -> 10;
level(info) -> 20;
level(notice) -> 25;
level(warning) -> 30;
level(error) -> 40;
level(critical) -> 50;
level(alert) -> 60;
level(emergency) -> 70.
