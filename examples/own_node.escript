#!/usr/bin/env escript
%%! -pa erlang_nif/ebin
%% A node that traces itself: first as project-fifo's erltrace is used, then with records sent as messages.

main(_) ->
    true = dyntrace:available(), % loads the library: a tracer that stops at once has seen this node by then
    {ok, Handle} = erltrace:open(),
    ok = erltrace:compile(Handle, "erlang$target:::user_trace-i4s4 { @[copyinstr(arg6)] = quantize(arg2); }"),
    ok = erltrace:go(Handle),
    [dyntrace:p(N, Name) || {N, Name} <- [{3, "apple"}, {70, "pear"}, {5, "apple"}]],
    ok = erltrace:stop(Handle),
    io:format("~p~n", [erltrace:walk(Handle)]),
    ok = erltrace:close(Handle),

    {ok, Tracer} = erltrace:start_link("erlang$target:::user_trace-i4s4 { printf(\"%d of %s\", arg2, copyinstr(arg6)); }",
                                       #{credits => 10}),
    dyntrace:p(12, "quince"),
    wait_for_text(Tracer).

%% A message has what has come until then, which may be more than the one item: news of the tracing, say.
wait_for_text(Tracer) ->
    receive
        {erltrace, Tracer, {records, Items}} ->
            ok = erltrace:credit(Tracer, 1), % it may send one more
            case [Text || {printf, _Probe, Text} <- Items] of
                [] -> wait_for_text(Tracer);
                Texts -> io:format("~s~n", [Texts])
            end
    end.
