%% @doc The processes of this node with the longest message queues, the longest first, with their
%% stacks.
%%
%% No message is read or copied, and nothing is sent to a process. A process that ends meanwhile is
%% omitted. Reading the length of a queue takes some microseconds of a running process.
-module(erltrace_dump).

-export([longest/1, top/2, dist_queues/0]).

-export_type([queue/0, key/0, process/0]).

-type key() :: memory | message_queue_len | reductions | binary. % bytes of the binaries that it refers to
-type process() :: #{pid := pid(), name := string(), key() => non_neg_integer(), stack := [string()]}.

-type queue() :: #{pid := pid(), name := atom(), length := pos_integer(), initial_call := mfa(), stack := [string()]}.
%% `name' is [] of a process that has none; `stack' begins with the function that runs or waits.

-spec longest(pos_integer()) -> [queue()].
longest(Most) ->
    Lengths = [{Length, Pid} || Pid <- processes(), {message_queue_len, Length} <- [process_info(Pid, message_queue_len)], Length > 0],
    Queues = [Queue || {_, Pid} <- lists:sublist(lists:reverse(lists:sort(Lengths)), Most), Queue <- queue(Pid)],
    lists:sort(fun(#{length := A}, #{length := B}) -> A >= B end, Queues).

-define(INTERVAL, 1000). % ms of reductions

%% @doc The processes with the most of something, the most first.
-spec top(key(), pos_integer()) -> [process()].
top(reductions, Most) ->
    Before = maps:from_list([{Pid, N} || {N, Pid} <- measure(reductions)]),
    timer:sleep(?INTERVAL),
    show(reductions, [{N - maps:get(Pid, Before, 0), Pid} || {N, Pid} <- measure(reductions)], Most);
top(Key, Most) when Key =:= memory; Key =:= message_queue_len; Key =:= binary ->
    show(Key, measure(Key), Most).

measure(Key) ->
    [{size(Key, Value), Pid} || Pid <- processes(), {_, Value} <- [process_info(Pid, Key)]].

size(binary, Binaries) -> lists:sum([Size || {_, Size, _} <- Binaries]);
size(_, Value) -> Value.

show(Key, Measured, Most) ->
    [#{pid => Pid, name => pyusdt_process_name:name(Pid), Key => N, stack => stack(Pid)}
     || {N, Pid} <- lists:sublist(lists:reverse(lists:sort([Each || {N, _} = Each <- Measured, N > 0])), Most)].

%% @doc The nodes that this one is connected to, with the bytes that wait for each, the most first. net_kernel's table has the
%% handles of connections; a connection that ends meanwhile is omitted.
-spec dist_queues() -> [{node(), non_neg_integer()}].
dist_queues() ->
    Queues = [{element(2, Connection), Waiting} || is_alive(), Connection <- ets:tab2list(sys_dist), Waiting <- waiting_bytes(element(3, Connection))],
    lists:reverse(lists:keysort(2, Queues)).

waiting_bytes(Handle) ->
    try erlang:dist_get_stat(Handle) of
        {ok, _In, _Out, Waiting} when is_integer(Waiting) -> [Waiting]
    catch error:badarg -> []
    end.

stack(Pid) ->
    case process_info(Pid, current_stacktrace) of
        {_, Stack} -> [format_frame(Frame) || Frame <- Stack];
        undefined -> []
    end.

%% The length and the stack are of one moment; a queue may have become empty since, or longer than the one before it.
queue(Pid) ->
    case process_info(Pid, [registered_name, message_queue_len, initial_call, current_stacktrace]) of
        [{_, Name}, {_, Length}, {_, Call}, {_, Stack}] when Length > 0 ->
            [#{pid => Pid, name => Name, length => Length, initial_call => Call, stack => [format_frame(Frame) || Frame <- Stack]}];
        _ ->
            []
    end.

format_frame({Module, Function, Arity, Location}) ->
    Where = [io_lib:format("  ~ts:~b", [File, Line]) || {file, File} <- Location, {line, Line} <- Location],
    lists:flatten([pyusdt_process_name:format_function(Module, Function, Arity), Where]).
