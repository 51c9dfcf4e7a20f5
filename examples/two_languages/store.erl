%% A key-value store over TCP, the back end of shop.py.
%%
%% Input: lines of "TAG KEY" on a socket; the tag names the request that the front end is busy with.
%% Output: the key's value, or "none"; on its standard output first the port, and whether its probes are there. Ends when the front end does.
%% - A connection's process has the tag of the request it serves, and fires user_trace-n1 before and user_trace-n2
%% behind each look-up, with the key.
-module(store).
-export([main/0]).

main() ->
    {ok, Listener} = gen_tcp:listen(0, [binary, {packet, line}, {active, false}, {ip, {127, 0, 0, 1}}]),
    {ok, Port} = inet:port(Listener),
    io:format("~b ~p~n", [Port, has_probes()]),
    spawn_link(fun() -> accept(Listener) end),
    eof = io:get_line(""),
    halt().

%% Without pyusdt's, dyntrace is OTP's module, which has none on a stock emulator; or there is none of this name.
has_probes() ->
    try dyntrace:available()
    catch error:undef -> false
    end.

accept(Listener) ->
    {ok, Socket} = gen_tcp:accept(Listener),
    Pid = spawn_link(fun() -> receive yours -> serve(Socket) end end),
    ok = gen_tcp:controlling_process(Socket, Pid),
    Pid ! yours,
    accept(Listener).

serve(Socket) ->
    case gen_tcp:recv(Socket, 0) of
        {ok, Line} ->
            [Tag, Key] = binary:split(string:trim(Line), <<" ">>),
            dyntrace:put_tag(Tag),
            dyntrace:pn(1, Key),
            Value = look_up(Key),
            dyntrace:pn(2, Key),
            ok = gen_tcp:send(Socket, [Value, $\n]),
            serve(Socket);
        {error, closed} ->
            ok
    end.

%% What makes the 99th percentile bad: one key in a hundred lies on a slow disk.
look_up(<<"quince">>) -> timer:sleep(60), <<"7">>;
look_up(<<"apple">>) -> <<"3">>;
look_up(<<"pear">>) -> <<"5">>;
look_up(_) -> <<"none">>.
