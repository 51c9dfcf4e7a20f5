#!/usr/bin/env escript
%% A load for RabbitMQ: `ERL_LIBS=<plugins of the server> escript amqp_load.escript N` publishes N messages of 100 bytes to a
%% queue of its own over AMQP 0-9-1, by one connection, and consumes them over another; prints how long it took.
-mode(compile).
-include_lib("amqp_client/include/amqp_client.hrl").

main([Number]) ->
    N = list_to_integer(Number),
    {ok, _} = application:ensure_all_started(amqp_client),
    Out = channel(),
    In = channel(),
    #'queue.declare_ok'{queue = Queue} = amqp_channel:call(Out, #'queue.declare'{auto_delete = true}),
    #'basic.consume_ok'{} = amqp_channel:call(In, #'basic.consume'{queue = Queue, no_ack = true}),
    receive #'basic.consume_ok'{} -> ok end,
    Began = erlang:monotonic_time(microsecond),
    Message = #amqp_msg{payload = binary:copy(<<"x">>, 100)},
    _ = [ok = amqp_channel:call(Out, #'basic.publish'{routing_key = Queue}, Message) || _ <- lists:seq(1, N)],
    _ = [receive {#'basic.deliver'{}, _} -> ok end || _ <- lists:seq(1, N)],
    io:format("consumed ~b in ~b us~n", [N, erlang:monotonic_time(microsecond) - Began]).

channel() ->
    {ok, Connection} = amqp_connection:start(#amqp_params_network{host = "127.0.0.1"}),
    {ok, Channel} = amqp_connection:open_channel(Connection),
    Channel.
