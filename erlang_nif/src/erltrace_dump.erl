%% @doc The processes of this node with the longest message queues, the longest first, with their
%% stacks.
%%
%% No message is read or copied, and nothing is sent to a process. A process that ends meanwhile is
%% omitted. Reading the length of a queue takes some microseconds of a running process.
-module(erltrace_dump).

-export([longest/1]).

-export_type([queue/0]).

-type queue() :: #{pid := pid(), name := atom(), length := pos_integer(), initial_call := mfa(), stack := [string()]}.
%% `name' is [] of a process that has none; `stack' begins with the function that runs or waits.

-spec longest(pos_integer()) -> [queue()].
longest(Most) ->
    Lengths = [{Length, Pid} || Pid <- processes(), {message_queue_len, Length} <- [process_info(Pid, message_queue_len)], Length > 0],
    Queues = [Queue || {_, Pid} <- lists:sublist(lists:reverse(lists:sort(Lengths)), Most), Queue <- queue(Pid)],
    lists:sort(fun(#{length := A}, #{length := B}) -> A >= B end, Queues).

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
    lists:flatten([io_lib:format("~ts", [format_function(Module, Function, Arity)]), Where]).

%% As Erlang writes it, or Elixir: the same as in the probes.
format_function(Module, Function, Arity) ->
    case atom_to_list(Module) of
        "Elixir." ++ Name -> io_lib:format("~ts.~ts/~b", [Name, Function, Arity]);
        _ -> io_lib:format("~tw:~tw/~b", [Module, Function, Arity])
    end.
