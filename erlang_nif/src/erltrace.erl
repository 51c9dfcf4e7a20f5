%% @doc DTrace from inside Erlang: compile a D script, let it run, and receive its records as terms.
%%
%% The functions and the shapes of their results are those of project-fifo's library of this name.
%% pydtrace does the work, as a port program in an operating system process of its own; nothing of
%% it is in the emulator. So every engine of pydtrace works, and a probe in this node can be traced
%% from this node:
%%
%% ```
%% {ok, H} = erltrace:open(),
%% ok = erltrace:compile(H, "erlang$target:::user_trace-i4s4 { @[copyinstr(arg6)] = quantize(arg2); }"),
%% ok = erltrace:go(H),
%% ...
%% {ok, [{quantize, ["apple"], [{{4, 7}, 12}, {{8, 15}, 3}]}]} = erltrace:walk(H),
%% ok = erltrace:stop(H).
%% '''
%%
%% `start_link/2' is for a supervision tree: records and snapshots come as messages, at most as many
%% as there is credit for.
%%
%% A handle belongs to the process that opened it. If the process or pydtrace ends, the other ends
%% too. Records that cannot be delivered are counted, and the count is delivered.
-module(erltrace).

-export([open/0, open/1, script/1, setopt/3, compile/2, go/1, stop/1, consume/1, walk/1, close/1]).
-export([start_link/1, start_link/2, credit/2, snapshot/1, dump/0, top/1, dist_queues/0, watch/2, cluster/2, cluster/3]).

-export_type([family/0, figure/0, handle/0, error/0, item/0, probe/0, value/0, real/0, row/0, aggregation/0, buckets/0, options/0, message/0]).

-opaque handle() :: pid().

-type error() :: {error, {dtrace, Message :: string()}}.
%% The message of pydtrace, as on a terminal.

-type probe() :: [string()].
%% Provider, module, function and name.

-type value() :: integer() | real() | string() | [string()] | binary().
%% A list of strings is a stack; a binary is text that is no UTF-8, or data that is no text.

-type real() :: float() | nan | infinity | '-infinity'.
%% D's floating-point values (the option "pyusdt").

-type item() :: {probe, probe()}                    % a clause that records nothing but that it ran
              | {probe, probe(), value()}           % trace()
              | {printf, probe(), string() | binary()}
              | {printa, probe(), string() | binary()}
              | {error, string()}                   % a run-time error of the script: tracing continues
              | {drop, atom(), pos_integer()}       % lost on the way, by kind: principal, aggregation, order ...
              | {lost, pos_integer()}.              % items that were not taken in time, see the option `buffer'

-type buckets() :: [{{Lowest :: integer(), Highest :: integer()}, Count :: integer()}].
%% The buckets that are not empty, ascending.

-type row() :: {count | sum | min | max | stddev, Keys :: [value()], integer()}
             | {sum | min | max | avg | stddev, Keys :: [value()], real()} % avg always, the others of floating-point values
             | {quantize | lquantize | llquantize, Keys :: [value()], buckets()}
             | {percentiles, Keys :: [value()], {[{Percent :: number(), integer()}], buckets()}}. % 100 is the greatest

-type aggregation() :: {Name :: string(), [row()]}.
%% Without the `@'; "_" is the one that is only called `@'.

-type options() :: #{pydtrace => file:filename(),       % default: the application's `pydtrace', else the one on PATH
                     pids => all | self | [pos_integer()], % of operating system processes; default: all of this user
                     command => [string()],             % started, traced from its first probe on, and ended with us
                     options => #{string() => string()}, % pydtrace's -x options: "engine", "strsize" ...
                     nodes => visible | [node()],       % these trace, each its own operating system process: see cluster/2
                     arguments => [string()],           % the script's $1, $2 ...
                     buffer => pos_integer(),           % items that wait in pydtrace at most: 10000
                     strict => boolean(),               % go/1 refuses a probe that does not exist (yet): false for start_link/2 only:
                     to => pid() | atom(),              % the receiver of the messages, a pid or its registered name: the caller
                     credits => non_neg_integer(),      % messages before the first credit/2: 100
                     batch => pos_integer(),            % items of a message at most: 100
                     interval => pos_integer() | infinity, % milliseconds between snapshots: 1000
                     metrics => [string()],             % `metrics' in the place of `aggregations', as these lines of a mapping name them
                     alerts => [string()]}.             % clauses, as pydtrace's --alert calls them: their records are alerts

-type family() :: {Name :: binary(), counter | gauge | histogram | summary, Help :: binary(),
                   [{Labels :: [{binary(), binary()}], figure()}]}.
%% The metrics of an aggregation (docs/howto/metrics.md).

-type figure() :: number() | nan | infinity | '-infinity'
                | {histogram | summary, [{End :: number() | infinity, number()}], Count :: number() | undefined, Sum :: number() | undefined}.

-type message() :: {erltrace, pid(), {records, [item()]}
                                   | {aggregations, [aggregation()]}
                                   | {metrics, [family()]}
                                   | {alert, #{binary() => term()}} % the note of docs/howto/alerts.md, keys and texts as binaries
                                   | {over, exited | stopped, Status :: integer()}}.
%% The messages of `start_link/2'.

%% ---- functions that need no tracing ----

%% @doc The ten longest queues of messages of this node, with the stacks of their processes; nothing has to be traced for it.
-spec dump() -> [erltrace_dump:queue()].
dump() ->
    erltrace_dump:longest(10).

%% @doc The ten processes of this node with the most of something now, by name; of `reductions' since a second ago.
-spec top(erltrace_dump:key()) -> [erltrace_dump:process()].
top(Key) ->
    erltrace_dump:top(Key, 10).

%% @doc The nodes that this one is connected to, with the bytes that wait to be sent to each, the most first. A process that
%% sends to a node for which more than `limit' bytes (`erl +zdbbl') wait is suspended.
-spec dist_queues() -> [#{node := node(), waiting := non_neg_integer(), limit := pos_integer()}].
dist_queues() ->
    Limit = erlang:system_info(dist_buf_busy_limit),
    [#{node => Node, waiting => Waiting, limit => Limit} || {Node, Waiting} <- erltrace_dump:dist_queues()].

%% @doc The next calls of a function, at most `count' of them, with arguments, result or exception, time and caller. It
%% returns when it has them, when the `time' is over, or when it has looked at so many `calls'; then nothing is traced any more.
%% Arguments and results are truncated, and values whose keys are names of secrets are left out.
%%
%% ```
%% {ok, count, [#{params := [tea, 3], retval := 12, us := 40}]} =
%%     erltrace:watch("shop:price/2", #{count => 1, where => "P2 > 2", slower => 0}).
%% '''
-spec watch(string() | mfa(), erltrace_watch:options()) -> {ok, erltrace_watch:ended(), [erltrace_watch:call()]} | {error, term()}.
watch(Function, Options) ->
    erltrace_watch:watch(Function, Options).

%% ---- a cluster ----

%% @doc Trace on several nodes, and receive their records and counts as one: the handle is as that
%% of `open/1', and traces. `visible': this node and those that are connected to it, now or later.
%% `$target' is each node's own process, `host' in the script its name. BEGIN, END and ticks run
%% here, once; see docs/reference/many-hosts.md for where the other clauses run. Changes of a node are
%% `{error, Text}' among the items; a lost node that returns is traced again.
-spec cluster(visible | [node()], Script :: unicode:chardata() | iodata()) -> {ok, handle()} | error().
cluster(Nodes, Script) ->
    cluster(Nodes, Script, #{}).

-spec cluster(visible | [node()], Script :: unicode:chardata() | iodata(), options()) -> {ok, handle()} | error().
cluster(Nodes, Script, Options) ->
    open_and_run(Options#{nodes => Nodes}, fun(Handle) ->
        case compile(Handle, Script) of
            ok -> go(Handle);
            Error -> Error
        end
    end).

%% A handle with which that went well.
open_and_run(Options, Do) ->
    case open(Options) of
        {ok, Handle} ->
            case Do(Handle) of
                ok -> {ok, Handle};
                Error -> close(Handle), Error
            end;
        Error ->
            Error
    end.

%% ---- project-fifo's functions ----

%% @doc A handle, for the calling process. `$target' is this node.
-spec open() -> {ok, handle()} | error().
open() ->
    open(#{}).

-spec open(options()) -> {ok, handle()} | error().
open(Options) ->
    erltrace_server:start(Options).

%% @doc A handle with a compiled script.
-spec script(unicode:chardata() | iodata()) -> {ok, handle()} | error().
script(Script) ->
    open_and_run(#{}, fun(Handle) -> compile(Handle, Script) end).

%% @doc Set one of pydtrace's -x options, before `go/1'; the value of a switch is "".
-spec setopt(handle(), Option :: string(), Value :: string()) -> ok | error().
setopt(Handle, Option, Value) ->
    case {erltrace_options:read_text(Option), erltrace_options:read_text(Value)} of
        {{ok, Name}, {ok, Text}} -> call_server(Handle, {setopt, Name, Text});
        _ -> {error, {dtrace, lists:flatten(io_lib:format("~0tp, ~0tp: an option and its value are strings", [Option, Value]))}}
    end.

-spec compile(handle(), Script :: unicode:chardata() | iodata()) -> ok | {error, already_running} | error().
compile(Handle, Script) ->
    call_server(Handle, {compile, script_bytes(Script)}).

%% @doc Start tracing. When it returns, the probes are on, those of the emulator, too.
-spec go(handle()) -> ok | {error, no_prog | already_running} | error().
go(Handle) ->
    erltrace_server:go(Handle).

%% @doc Stop tracing; END runs. What was recorded until then can still be taken.
-spec stop(handle()) -> ok | {error, no_prog} | error().
stop(Handle) ->
    call_server(Handle, stop).

%% @doc What was recorded since the last time, in order; `ok': nothing.
-spec consume(handle()) -> ok | {ok, [item()]} | {error, no_prog | exited | stopped} | error().
consume(Handle) ->
    call_server(Handle, consume).

%% @doc The rows of the aggregations that have changed since the last time, with their deltas: what
%% was counted, added or sorted into buckets meanwhile. (min and max are those since `go/1'.) `ok':
%% no row has changed.
-spec walk(handle()) -> ok | {ok, [row()]} | {error, no_prog | exited | stopped} | error().
walk(Handle) ->
    call_server(Handle, walk).

%% ---- more ----

%% @doc End it: pydtrace ends too.
-spec close(handle()) -> ok.
close(Handle) ->
    erltrace_server:stop(Handle).

%% @doc All aggregations as they are now, since `go/1'.
-spec snapshot(handle() | pid()) -> {ok, [aggregation()]} | error().
snapshot(Handle) ->
    call_server(Handle, snapshot).

-spec start_link(Script :: unicode:chardata() | iodata()) -> {ok, pid()} | {error, term()}.
start_link(Script) ->
    start_link(Script, #{}).

%% @doc A process that traces and sends the records, as {@type message()}s. Each message costs a
%% credit; the receiver returns credits by `credit/2' after it has dealt with messages. Without
%% credit nothing is sent: at most `buffer' items wait, and items that do not fit are counted and
%% reported by `{lost, N}' behind those that waited; snapshots are omitted. It ends `normal' after
%% `over', and with `{pydtrace, Status}' if pydtrace dies.
-spec start_link(Script :: unicode:chardata() | iodata(), options()) -> {ok, pid()} | {error, term()}.
start_link(Script, Options) ->
    erltrace_server:start_link(script_bytes(Script), Options).

-spec credit(pid(), pos_integer()) -> ok.
credit(Server, Number) ->
    erltrace_server:credit(Server, Number).

call_server(Handle, Command) ->
    erltrace_server:call(Handle, Command).

%% A script as UTF-8; one that is no text as the bytes that it is.
script_bytes(Script) ->
    case unicode:characters_to_binary(Script) of
        Binary when is_binary(Binary) -> Binary;
        _NoText -> iolist_to_binary(Script)
    end.
