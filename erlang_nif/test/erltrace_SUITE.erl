%% erltrace traces this node, with the pydtrace on PATH.
-module(erltrace_SUITE).

-include_lib("stdlib/include/assert.hrl").

-compile([export_all, nowarn_export_all]).

-define(P, "erlang$target:::user_trace-i4s4").

suite() ->
    [{timetrap, {seconds, 60}}].

all() ->
    [without_a_program, wrong_script, wrong_option, wrong_options, options_of_all_kinds, strict, script_option_and_arguments, records, all_functions, walk_is_since_the_last,
     floats, keys_of_all_kinds, kernel_engine, ends_by_exit, stop_keeps_what_was_recorded, faults_and_drops, what_is_not_taken_is_counted,
     command_is_traced, command_that_is_not_there, closed, owner_dies, pydtrace_is_killed, no_pydtrace, stream, stream_without_credit, stream_is_over,
     stream_of_a_wrong_script, stream_loses_pydtrace, client_of_a_stream_dies, no_atom_is_made].

init_per_suite(Config) ->
    case os:find_executable("pydtrace") of
        false -> {fail, "no pydtrace on PATH"};
        _ -> true = dyntrace:available(), Config
    end.

end_per_suite(_) ->
    ok.

%% ---- project-fifo's functions ----

without_a_program(_) ->
    {ok, H} = erltrace:open(),
    [?assertEqual({error, no_prog}, erltrace:Function(H)) || Function <- [go, consume, walk, stop]],
    ok = erltrace:close(H).

wrong_script(_) ->
    {ok, H} = erltrace:open(),
    {error, {dtrace, Text}} = erltrace:compile(H, "BEGIN { nonsense; }"),
    ?assertMatch({match, _}, re:run(Text, "nonsense.*D_IDENT_UNDEF", [dotall])),
    ?assertEqual({error, no_prog}, erltrace:go(H)),
    ?assertEqual(ok, erltrace:compile(H, "BEGIN { }")), % another try
    ?assertEqual({error, already_running}, erltrace:compile(H, "BEGIN { }")),
    ?assertEqual(ok, erltrace:go(H)),
    ?assertEqual({error, already_running}, erltrace:go(H)),
    ?assertMatch({error, {dtrace, _}}, erltrace:setopt(H, "strsize", "8")),
    ?assertMatch({error, {dtrace, _}}, erltrace:script("BEGIN {")),
    ok = erltrace:close(H).

wrong_option(_) ->
    {ok, H} = erltrace:open(),
    ?assertEqual({error, {dtrace, "strsiz: Invalid option name"}}, erltrace:setopt(H, "strsiz", "1")),
    ?assertMatch({error, {dtrace, _}}, erltrace:setopt(H, "strsize", "much")),
    ok = erltrace:close(H),
    ?assertEqual({error, {dtrace, "<<\"strsize\">>, 8: an option and its value are strings"}}, erltrace:setopt(H, <<"strsize">>, 8)),
    {error, {dtrace, _}} = erltrace:open(#{options => #{"strsiz" => "1"}}).

%% Wrong options are refused before anything starts, by name, without a crash.
wrong_options(_) ->
    process_flag(trap_exit, true),
    Wrong = [{#{batch => 0}, "option batch: it is a number from 1 to 4294967295, not 0"},
             {#{credits => foo}, "option credits: it is a number from 0 to 4294967295, not foo"},
             {#{buffer => 1 bsl 32}, "option buffer: it is a number from 1 to"},
             {#{interval => 0.5}, "option interval: it is infinity, or a number of milliseconds"},
             {#{bach => 1}, "option bach: there is none of this name; there are arguments, buffer, "},
             {#{"batch" => 1}, "option \"batch\": there is none of this name"},
             {#{to => nobody_here}, "option to: it is a pid, or the name of a process that is registered here, not nobody_here"},
             {#{pids => []}, "option pids: it is all, self, or a list of process ids, not []"},
             {#{pids => [1 | 2]}, "option pids"}, {#{pids => ["1"]}, "option pids"}, {#{pids => [0]}, "option pids"},
             {#{command => "ls"}, "option command: it is a list of words, each a string, not \"ls\""},
             {#{command => []}, "option command"}, {#{command => ["l\0s"]}, "option command"},
             {#{pids => self, command => ["ls"]}, "options pids and command: what is traced is one or the other"},
             {#{options => [{"quiet", ""}]}, "option options: it is a map of strings to strings"},
             {#{options => #{strsize => 4}}, "option options"}, {#{arguments => [7]}, "option arguments: it is a list of strings"},
             {#{arguments => [<<255>>]}, "option arguments"}, {#{strict => yes}, "option strict: it is true or false, not yes"},
             {#{pydtrace => 7}, "option pydtrace: it is a path"}, {[], "the options are a map, not []"}],
    [begin
         {error, {dtrace, Text}} = erltrace:start_link("BEGIN { }", Options),
         ?assertEqual(Begins, lists:sublist(Text, length(Begins)))
     end || {Options, Begins} <- Wrong],
    ?assertEqual({error, {dtrace, "option batch: start_link/2 takes it, open/1 does not"}}, erltrace:open(#{batch => 1})),
    ?assertMatch({error, {dtrace, "option buffer: " ++ _}}, erltrace:open(#{buffer => 0})),
    ?assertMatch({error, {dtrace, "the options are a map" ++ _}}, erltrace:open(none)),
    ?assertEqual({messages, []}, process_info(self(), messages)). % of no process that was started and has died

%% Each that can be, as a string, a binary or both.
options_of_all_kinds(_) ->
    true = register(?FUNCTION_NAME, self()),
    {ok, Server} = erltrace:start_link(<<"BEGIN { trace($$1); trace($$2); exit(0); }">>,
        #{to => ?FUNCTION_NAME, batch => 1, buffer => 10, credits => 9, interval => infinity, pids => [list_to_integer(os:getpid())],
          arguments => ["a", <<"\x{e9}"/utf8>>], options => #{<<"strsize">> => "4", "quiet" => <<>>}, strict => true,
          pydtrace => list_to_binary(os:find_executable("pydtrace"))}),
    receive {erltrace, Server, {records, [{probe, _, "a"}]}} -> ok end,
    receive {erltrace, Server, {records, [{probe, _, [16#e9]}]}} -> ok end,
    receive {erltrace, Server, {over, exited, 0}} -> ok end.

%% A probe that does not exist: waited for, or refused; and traced once it exists.
strict(_) ->
    Script = "nobody$target:::has-it { trace(arg0); }",
    {ok, Waits} = erltrace:script(Script),
    ok = erltrace:go(Waits),
    ok = erltrace:close(Waits),
    {ok, H} = erltrace:open(#{strict => true}),
    ok = erltrace:compile(H, Script),
    {error, {dtrace, Text}} = erltrace:go(H),
    ?assertMatch({match, _}, re:run(Text, "^erltrace: .*nobody[0-9]+:::has-it does not match any probes")),
    Probe = pyusdt:probe(pyusdt:provider("nobody"), "has-it", [int]),
    ok = erltrace:go(H),
    true = pyusdt:fire(Probe, [7]),
    ?assertMatch([{probe, _, 7}], items(H, 1)),
    ok = erltrace:close(H).

script_option_and_arguments(_) ->
    {ok, H} = erltrace:open(#{arguments => ["7", "text"], options => #{"strsize" => "4"}}),
    ok = erltrace:setopt(H, "quiet", ""),
    ok = erltrace:compile(H, "BEGIN { trace($1); trace($$2); trace($target); }"),
    ok = erltrace:go(H),
    Node = list_to_integer(os:getpid()),
    ?assertMatch([{probe, ["dtrace", "", "", "BEGIN"], 7}, {probe, _, "tex"}, {probe, _, Node}], items(H, 3)),
    ok = erltrace:close(H).

records(_) ->
    {ok, H} = erltrace:script(?P " { trace(arg2); trace(copyinstr(arg6)); printf(\"%d of %s\", arg2, copyinstr(arg6)); }"
                              ?P " /arg2 == 2/ { }" ?P " /arg2 == 2/ { @ = count(); printa(\"%@d!\", @); }"),
    ok = erltrace:go(H),
    ?assertEqual(ok, erltrace:consume(H)),
    dyntrace:p(1, "apple"),
    dyntrace:p(2, <<"pear ☃"/utf8>>),
    dyntrace:p(3, <<255>>),
    Probe = ["erlang" ++ os:getpid(), "pyusdt_nif.so", "user_trace_i4s4", "user_trace-i4s4"],
    ?assertEqual([{probe, Probe, 1}, {probe, Probe, "apple"}, {printf, Probe, "1 of apple"},
                  {probe, Probe, 2}, {probe, Probe, "pear ☃"}, {printf, Probe, "2 of pear ☃"},
                  {probe, Probe}, {printa, Probe, "1!"},
                  {probe, Probe, 3}, {probe, Probe, <<255>>}, {printf, Probe, <<"3 of ", 255>>}], items(H, 11)),
    ok = erltrace:close(H).

all_functions(_) ->
    {ok, H} = erltrace:script(?P " { @n[\"n\"] = count(); @s[\"s\"] = sum(arg2); @i[\"i\"] = min(arg2); @x[\"x\"] = max(arg2);"
                              " @a[\"a\"] = avg(arg2); @d[\"d\"] = stddev(arg2); @q[\"q\"] = quantize(arg2);"
                              " @l[\"l\"] = lquantize(arg2, 0, 10, 5); @ll[\"ll\"] = llquantize(arg2, 10, 0, 1, 10); }"),
    ok = erltrace:go(H),
    [dyntrace:p(N) || N <- [-3, 0, 4, 4, 12]],
    ?assertEqual([{avg, ["a"], 3.4}, {count, ["n"], 5}, {llquantize, ["ll"], [{{-3, -3}, 1}, {{0, 0}, 1}, {{4, 4}, 2}, {{10, 19}, 1}]},
                  {lquantize, ["l"], [{{-(1 bsl 63), -1}, 1}, {{0, 4}, 3}, {{10, (1 bsl 63) - 1}, 1}]},
                  {max, ["x"], 12}, {min, ["i"], -3}, {quantize, ["q"], [{{-3, -2}, 1}, {{0, 0}, 1}, {{4, 7}, 2}, {{8, 15}, 1}]},
                  {stddev, ["d"], 5}, {sum, ["s"], 17}], walked(H, "n", 5)),
    ok = erltrace:close(H).

walk_is_since_the_last(_) ->
    {ok, H} = erltrace:script(?P " { @[\"n\"] = count(); @q[arg2] = quantize(arg2); @d[\"d\"] = stddev(arg2); @x[0] = max(arg2); }"),
    ok = erltrace:go(H),
    ?assertEqual(ok, erltrace:walk(H)),
    [dyntrace:p(N) || N <- [5, 5, 9]],
    ?assertEqual([{count, ["n"], 3}, {max, [0], 9}, {quantize, [5], [{{4, 7}, 2}]}, {quantize, [9], [{{8, 15}, 1}]},
                  {stddev, ["d"], 2}], walked(H, "n", 3)),
    ?assertEqual(ok, erltrace:walk(H)),
    [dyntrace:p(N) || N <- [5, 5]],
    ?assertEqual([{count, ["n"], 2}, {max, [0], 9}, {quantize, [5], [{{4, 7}, 2}]}, {stddev, ["d"], 0}], walked(H, "n", 2)),
    {ok, All} = erltrace:snapshot(H),
    ?assertEqual([{"_", [{count, ["n"], 5}]}, {"q", [{quantize, [5], [{{4, 7}, 4}]}, {quantize, [9], [{{8, 15}, 1}]}]}],
                 lists:sublist(All, 2)),
    ok = erltrace:close(H).

floats(_) ->
    {ok, H} = erltrace:open(),
    ok = erltrace:setopt(H, "pyusdt", ""),
    ok = erltrace:compile(H, ?P " { @n[\"n\"] = count(); @s = sum(arg2 * 0.25); @i = min(arg2 * 0.5); @x = max(1.0 / arg2);"
                              " @a = avg(arg2 * 1.5); @d = stddev(arg2 * 0.5); @p = percentiles(arg2); trace(1.0 / arg2); trace(-0.5 * arg2); }"),
    ok = erltrace:go(H),
    [dyntrace:p(N) || N <- [1, 3, 0]],
    ?assertMatch([{probe, _, 1.0}, {probe, _, -0.5}, {probe, _, _}, {probe, _, -1.5}, {probe, _, infinity}, {probe, _, _}], items(H, 6)),
    ?assertMatch([{avg, [], 2.0}, {count, ["n"], 3}, {max, [], infinity}, {min, [], 0.0},
                  {percentiles, [], {[{50, 1}, {90, 3}, {99, 3}, {99.9, 3}, {100, 3}], [{{0, 0}, 1}, {{1, 1}, 1}, {{3, 3}, 1}]}},
                  {stddev, [], _}, {sum, [], 1.0}],
                 walked(H, "n", 3)),
    [dyntrace:p(N) || N <- [2, 6]],
    [{avg, [], Avg}, {count, ["n"], 2}, {max, [], infinity}, {min, [], Min},
     {percentiles, [], {[{50, 2}, {90, 6}, {99, 6}, {99.9, 6}, {100, 6}], [{{2, 2}, 1}, {{6, 6}, 1}]}},
     {stddev, [], Dev}, {sum, [], 2.0}] = walked(H, "n", 2),
    ?assertEqual({6.0, true, 1000}, {Avg, Min == 0.0, round(Dev * 1000)}),
    ok = erltrace:close(H).

keys_of_all_kinds(_) ->
    {ok, H} = erltrace:script(?P " { @[arg2, copyinstr(arg6), \"n\"] = count(); }"),
    ok = erltrace:go(H),
    [dyntrace:p(N, Text) || {N, Text} <- [{-1, "b"}, {-1, <<"é"/utf8>>}, {300, <<254>>}]],
    ?assertEqual([{count, [-1, "b", "n"], 1}, {count, [-1, [16#e9], "n"], 1}, {count, [300, <<254>>, "n"], 1}],
                 walked(H, "n", 3)),
    ok = erltrace:close(H).

kernel_engine(_) ->
    case os:cmd("id -u") of
        "0\n" ->
            {ok, H} = erltrace:open(#{options => #{"engine" => "kernel"}, pids => self}),
            ok = erltrace:compile(H, ?P " { trace(arg2); @[copyinstr(arg6)] = sum(arg2); }"),
            ok = erltrace:go(H),
            dyntrace:p(41, "kernel"),
            ?assertMatch([{probe, _, 41}], items(H, 1)),
            ?assertEqual({ok, [{sum, ["kernel"], 41}]}, erltrace:walk(H)),
            ok = erltrace:close(H);
        _ ->
            {skip, "host: not root"}
    end.

ends_by_exit(_) ->
    {ok, H} = erltrace:script("BEGIN { trace(1); @ = count(); exit(3); } END { trace(2); }"),
    ok = erltrace:go(H),
    ?assertMatch([{probe, _, 1}, {probe, ["dtrace", "", "", "END"], 2}], items(H, 2)),
    ?assertEqual({ok, [{count, [], 1}]}, erltrace:walk(H)),
    ?assertEqual([{error, exited}, {error, exited}, ok], [erltrace:Function(H) || Function <- [consume, walk, stop]]),
    ok = erltrace:close(H).

stop_keeps_what_was_recorded(_) ->
    {ok, H} = erltrace:script(?P " { trace(arg2); @ = max(arg2); } END { trace(\"end\"); }"),
    ok = erltrace:go(H),
    dyntrace:p(6),
    ok = erltrace:stop(H),
    false = dyntrace:p(7),
    ?assertMatch({ok, [{probe, _, 6}, {probe, _, "end"}]}, erltrace:consume(H)),
    ?assertEqual({ok, [{max, [], 6}]}, erltrace:walk(H)),
    ?assertEqual([{error, stopped}, {error, stopped}, ok], [erltrace:Function(H) || Function <- [consume, walk, stop]]),
    ok = erltrace:close(H).

faults_and_drops(_) ->
    {ok, H} = erltrace:open(#{options => #{"bufsize" => "4k"}}),
    ok = erltrace:compile(H, ?P " /arg2 == 1/ { trace(10 / arg3); }" ?P " /arg2 == 2/ { @ = count(); }"),
    ok = erltrace:go(H),
    dyntrace:p(1),
    [{error, Text}] = items(H, 1),
    ?assertMatch({match, _}, re:run(Text, "divide-by-zero")),
    os:cmd("kill -STOP " ++ program(H)), % it reads nothing
    [dyntrace:p(2, lists:duplicate(100, $x)) || _ <- lists:seq(1, 60000)],
    os:cmd("kill -CONT " ++ program(H)),
    ok = erltrace:stop(H),
    {ok, Drops} = erltrace:consume(H),
    {ok, [{count, [], Counted}]} = erltrace:walk(H),
    ?assertEqual(60000, Counted + lists:sum([N || {drop, principal, N} <- Drops])),
    ok = erltrace:close(H).

what_is_not_taken_is_counted(_) ->
    {ok, H} = erltrace:open(#{buffer => 3}),
    ok = erltrace:compile(H, ?P " { trace(arg2); @ = count(); }"),
    ok = erltrace:go(H),
    [dyntrace:p(N) || N <- lists:seq(1, 10)],
    ok = erltrace:stop(H),
    ?assertMatch({ok, [{probe, _, 1}, {probe, _, 2}, {probe, _, 3}, {lost, 7}]}, erltrace:consume(H)),
    ?assertEqual({ok, [{count, [], 10}]}, erltrace:walk(H)), % a slow reader loses records, not counts
    ok = erltrace:close(H).

command_is_traced(_) ->
    {ok, H} = erltrace:open(#{command => ["sh", "-c", "exit 0"]}),
    ok = erltrace:compile(H, "BEGIN { trace($target); }"),
    ok = erltrace:go(H),
    [{probe, _, Pid}] = items(H, 1),
    ?assertNotEqual(os:getpid(), integer_to_list(Pid)),
    ?assertEqual({error, exited}, until_other(fun() -> erltrace:consume(H) end, ok)),
    ok = erltrace:close(H).

command_that_is_not_there(_) ->
    {ok, H} = erltrace:open(#{command => ["/nowhere/program", "x"]}),
    ok = erltrace:compile(H, "BEGIN { }"),
    ?assertEqual({error, {dtrace, "failed to start /nowhere/program: No such file or directory"}}, erltrace:go(H)),
    ok = erltrace:close(H).

%% ---- ends ----

closed(_) ->
    {ok, H} = erltrace:script("BEGIN { }"),
    ok = erltrace:go(H),
    Program = program(H),
    ok = erltrace:close(H),
    ok = erltrace:close(H),
    ?assertMatch({error, {dtrace, "the tracing has ended" ++ _}}, erltrace:consume(H)),
    gone(Program).

owner_dies(_) ->
    Me = self(),
    Owner = spawn(fun() ->
        {ok, H} = erltrace:script(?P " { trace(arg2); }"),
        ok = erltrace:go(H),
        Me ! {handle, H},
        receive never -> ok end
    end),
    H = receive {handle, Handle} -> Handle end,
    Program = program(H),
    exit(Owner, kill),
    gone(Program),
    until_other(fun dyntrace:p/0, true). % its probes are off

pydtrace_is_killed(_) ->
    {ok, H} = erltrace:script(?P " { trace(arg2); }"),
    ok = erltrace:go(H),
    Monitor = monitor(process, H),
    os:cmd("kill -9 " ++ program(H)),
    receive {'DOWN', Monitor, process, H, Reason} -> ?assertEqual({pydtrace, 137}, Reason) end,
    ?assertMatch({error, {dtrace, _}}, erltrace:walk(H)),
    true = is_boolean(dyntrace:p(1)). % this node continues

no_pydtrace(_) ->
    ?assertEqual({error, {dtrace, "there is no program /nowhere/pydtrace that can be run, which the option pydtrace names"}},
                 erltrace:open(#{pydtrace => "/nowhere/pydtrace"})),
    ok = application:set_env(pyusdt, pydtrace, "/nowhere/pydtrace"),
    ?assertEqual({error, {dtrace, "there is no program /nowhere/pydtrace that can be run, which the environment of the application "
                                  "pyusdt names (pydtrace)"}}, erltrace:open()),
    ok = application:set_env(pyusdt, pydtrace, wrong),
    ?assertMatch({error, {dtrace, "option pydtrace: " ++ _}}, erltrace:open()),
    ok = application:set_env(pyusdt, pydtrace, os:find_executable("pydtrace")),
    {ok, H} = erltrace:open(),
    ok = erltrace:close(H),
    ok = application:unset_env(pyusdt, pydtrace).

%% ---- start_link ----

stream(_) ->
    {ok, Server} = erltrace:start_link(?P " { trace(arg2); @[copyinstr(arg6)] = count(); @m = max(arg2); }", #{interval => 20}),
    [dyntrace:p(N, "a") || N <- lists:seq(1, 5)],
    ?assertMatch([{probe, _, 1}, {probe, _, 2}, {probe, _, 3}, {probe, _, 4}, {probe, _, 5}], streamed(Server, 5)),
    ?assertEqual([{"_", [{count, ["a"], 5}]}, {"m", [{max, [], 5}]}],
                 until(fun() -> receive {erltrace, Server, {aggregations, Snapshot}} -> Snapshot end end,
                       fun([{_, Rows} | _]) -> Rows =:= [{count, ["a"], 5}] end)),
    ?assertMatch({ok, [{"_", [{count, ["a"], 5}]} | _]}, erltrace:snapshot(Server)),
    unlink(Server),
    exit(Server, shutdown).

%% Nothing is sent beyond the credit. Waiting items come with the next credit, and then the count of
%% those that did not fit.
stream_without_credit(_) ->
    {ok, Server} = erltrace:start_link(?P " { trace(arg2); @ = count(); }",
                                       #{interval => infinity, credits => 2, batch => 1, buffer => 4}),
    [dyntrace:p(N) || N <- lists:seq(1, 10)],
    ?assertMatch([{probe, _, 1}, {probe, _, 2}], streamed(Server, 2)),
    {ok, [{"_", [{count, [], 10}]}]} = until(fun() -> erltrace:snapshot(Server) end,
                                             fun({ok, [{_, Rows}]}) -> Rows =:= [{count, [], 10}] end),
    timer:sleep(100),
    ?assertEqual({messages, []}, process_info(self(), messages)),
    ok = erltrace:credit(Server, 100),
    Rest = streamed(Server, until_lost),
    {lost, Lost} = lists:last(Rest),
    ?assertEqual(8, Lost + length(Rest) - 1),
    unlink(Server),
    exit(Server, shutdown).

stream_is_over(_) ->
    process_flag(trap_exit, true),
    {ok, Server} = erltrace:start_link("BEGIN { trace(1); @ = count(); exit(4); }", #{credits => 0}),
    receive Early -> ct:fail(Early) after 200 -> ok end,
    ok = erltrace:credit(Server, 9),
    ?assertMatch([{erltrace, Server, {records, [{probe, _, 1}]}}, {erltrace, Server, {aggregations, [{"_", [{count, [], 1}]}]}},
                  {erltrace, Server, {over, exited, 4}}, {'EXIT', Server, normal}],
                 [receive Message -> Message end || _ <- lists:seq(1, 4)]).

stream_of_a_wrong_script(_) ->
    process_flag(trap_exit, true),
    ?assertMatch({error, {dtrace, "erltrace: " ++ _}}, erltrace:start_link("BEGIN {")),
    ?assertMatch({error, {dtrace, "there is no" ++ _}}, erltrace:start_link("BEGIN { }", #{pydtrace => "/nowhere"})).

stream_loses_pydtrace(_) ->
    process_flag(trap_exit, true),
    {ok, Server} = erltrace:start_link(?P " { trace(arg2); }"),
    os:cmd("kill -9 " ++ program(Server)),
    receive {'EXIT', Server, Reason} -> ?assertEqual({pydtrace, 137}, Reason) end.

client_of_a_stream_dies(_) ->
    Client = spawn(fun() -> receive never -> ok end end),
    {ok, Server} = erltrace:start_link(?P " { trace(arg2); }", #{to => Client}),
    Program = program(Server),
    exit(Client, kill),
    gone(Program).

%% Whatever is traced, the atom table does not grow by its names.
no_atom_is_made(_) ->
    erltrace_server:vocabulary(),
    {ok, H} = erltrace:script(?P " { trace(copyinstr(arg6)); @[copyinstr(arg6), probename] = count(); }"),
    ok = erltrace:go(H),
    [{probe, _, _}] = begin dyntrace:p(1, "first"), items(H, 1) end,
    {ok, _} = erltrace:walk(H),
    Before = erlang:system_info(atom_count),
    [dyntrace:p(N, ["never seen ", integer_to_list(N)]) || N <- lists:seq(1, 100)],
    100 = length(items(H, 100)),
    {ok, _} = erltrace:walk(H),
    ?assertEqual(Before, erlang:system_info(atom_count)),
    ok = erltrace:close(H).

%% ---- helpers ----

%% The next items, as many.
items(Handle, Number) ->
    items(Handle, Number, []).

items(_, Number, Found) when length(Found) >= Number ->
    Found;
items(Handle, Number, Found) ->
    case erltrace:consume(Handle) of
        {ok, More} -> items(Handle, Number, Found ++ More);
        ok -> timer:sleep(5), items(Handle, Number, Found)
    end.

%% All rows of walks until there are counts of so many for the key, sorted.
walked(Handle, Key, Number) ->
    walked(Handle, Key, Number, []).

walked(Handle, Key, Number, Found) ->
    case lists:sum([N || {count, Keys, N} <- Found, lists:last(Keys) =:= Key]) of
        Number -> lists:sort(Found);
        _ ->
            timer:sleep(50),
            case erltrace:walk(Handle) of
                ok -> walked(Handle, Key, Number, Found);
                {ok, Rows} when Found =:= [] -> walked(Handle, Key, Number, Rows)
            end
    end.

streamed(Server, until_lost) ->
    receive {erltrace, Server, {records, Items}} ->
        case lists:last(Items) of
            {lost, _} -> Items;
            _ -> Items ++ streamed(Server, until_lost)
        end
    end;
streamed(_, 0) ->
    [];
streamed(Server, Number) ->
    receive {erltrace, Server, {records, Items}} -> Items ++ streamed(Server, Number - length(Items)) end.

until(Function, IsIt) ->
    Found = Function(),
    case IsIt(Found) of
        true -> Found;
        false -> timer:sleep(10), until(Function, IsIt)
    end.

until_other(Function, Value) ->
    until(Function, fun(Found) -> Found =/= Value end).

%% The process id of the pydtrace of a handle.
program(Server) ->
    {links, Links} = process_info(Server, links),
    [Port] = [Link || Link <- Links, is_port(Link)],
    {os_pid, Pid} = erlang:port_info(Port, os_pid),
    integer_to_list(Pid).

%% There is no such process any more; at most a zombie that its parent has not waited for.
gone(Program) ->
    until(fun() -> os:cmd("ps -o stat= -p " ++ Program) end, fun(State) -> State =:= "" orelse hd(State) =:= $Z end).
