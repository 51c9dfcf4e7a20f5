%% The functions of pyusdt while nothing is traced, and the tags. tests/erlang has the tests with
%% tracers.
-module(pyusdt_tests).

-include_lib("eunit/include/eunit.hrl").

available_test() ->
    ?assert(pyusdt:available()).

%% Every arity of p and pn, with all integers, all strings, and impossible arguments: nothing is
%% traced, so false.
off_test_() ->
    Values = [[], [1], ["a"], [1, 2], [1, "a"], ["a", "b"], [1, 2, "a"], [undef, 2, 3], [1, 2, 3, 4],
              ["a", "b", <<"c">>, ["d", $e]], [1, "a", "b", "c", "d"], [1, 2, 3, 4, 5], [1, 2, "a", "b", "c", "d"],
              [1, 2, 3, "a", "b", "c", "d"], [1, 2, 3, 4, "a", "b", "c", "d"], [1 bsl 70, make_ref(), {no, text}]],
    [?_assertEqual({false, false}, {apply(pyusdt, p, List), apply(pyusdt, pn, [950 | List])}) || List <- Values].

%% OTP's clauses: with more than four values, the first ones must be integers.
wrong_order_test_() ->
    Wrong = [["a", 2, 3, 4, 5], [1, "a", 3, 4, 5, 6], [1, 2, "a", 4, 5, 6, 7], [1, 2, 3, "a", 5, 6, 7, 8]],
    [[?_assertError(function_clause, apply(pyusdt, p, List)),
      ?_assertError(function_clause, apply(pyusdt, pn, [0 | List]))] || List <- Wrong].

number_test_() ->
    [?_assertEqual(Answer, pyusdt:pn(Number))
     || {Number, Answer} <- [{0, false}, {950, false}, {951, error}, {1023, error}, {1024, badarg}, {-1, badarg},
                             {1 bsl 64, badarg}, {a, badarg}, {1.0, badarg}]].

%% Immediately, with the rule for erl_error, which shows it in the shell and in crash reports.
wrong_names_test_() ->
    Rule = "its name is a letter or _",
    [[?_assertMatch({badarg, {match, _}}, error_of(fun() -> pyusdt:provider(Name) end, Rule))
      || Name <- ["bad name!", "web2", <<>>, lists:duplicate(41, $a), lists:duplicate(50, 16#20ac)]],
     [?_assertMatch({badarg, {match, _}}, error_of(fun() -> pyusdt:provider(Name) end, Text))
      || {Name, Text} <- [{shop, "a name is text"}, {"nul\0", "NUL"}, {lists:duplicate(300, $a), "hundreds"}]],
     [?_assertMatch({badarg, {match, _}}, error_of(fun() -> pyusdt:probe(pyusdt:provider("shop"), Name, Types) end, Text))
      || {Name, Types, Text} <- [{"a b", [], Rule}, {"a", [atom], "atom is no type"}, {"a", lists:duplicate(13, int), "twelve"}]]].

error_of(Function, Text) ->
    try Function()
    catch error:Reason:Stack ->
        [{Module, _, _, _} | _] = Stack,
        #{general := General} = Module:format_error(Reason, Stack),
        {Reason, re:run(unicode:characters_to_binary(General), Text)}
    end.

user_trace_test() ->
    ?assertEqual(false, pyusdt:user_trace_s1("a")),
    ?assertEqual(false, pyusdt:user_trace_s1(no_iolist)), % badarg while enabled only, as in OTP
    ?assertEqual(false, pyusdt:user_trace_i4s4(<<"tag">>, 1, a, 3, 4, "a", undef, "c", "d")),
    ?assertEqual(false, pyusdt:enabled()),
    ?assertEqual(badarg, pyusdt:enabled(1024)).

%% Each tag test in a process of its own.
tag_test_() ->
    {foreach, fun() -> ok end, [{spawn, Test} || Test <- [
        fun put_and_get/0, fun put_no_text/0, fun spread_with_a_message/0, fun spread_without_a_tag/0,
        fun untagged_message_takes_it_away/0, fun new_tag_while_spreading/0, fun restore/0, fun restore_wrong/0,
        fun users_token_is_left_alone/0]]}.

put_and_get() ->
    ?assertEqual(undefined, pyusdt:get_tag()),
    ?assertEqual(undefined, pyusdt:put_tag("first")),
    ?assertEqual(<<"first">>, pyusdt:put_tag([<<"sec">>, "ond ", 16#20ac])),
    ?assertEqual(<<"second €"/utf8>>, pyusdt:get_tag()),
    ?assertEqual(<<"second €"/utf8>>, pyusdt:get_tag_data()),
    ?assertEqual(<<"second €"/utf8>>, pyusdt:put_tag(undefined)),
    ?assertEqual(undefined, pyusdt:get_tag()),
    ?assertEqual(undefined, pyusdt:get_tag_data()).

put_no_text() ->
    pyusdt:put_tag("before"),
    ?assertError(badarg, pyusdt:put_tag(<<255>>)),
    ?assertError(badarg, pyusdt:put_tag(atom)),
    ?assertEqual(<<"before">>, pyusdt:get_tag()).

spread_with_a_message() ->
    pyusdt:put_tag("travels"),
    ?assertEqual({undefined, undefined}, seen_by_another()),
    ?assertEqual({1, <<"travels">>}, pyusdt:spread_tag(true)),
    ?assertEqual({undefined, <<"travels">>}, seen_by_another()),
    ?assertEqual({3, <<"travels">>}, pyusdt:spread_tag(false)),
    ?assertEqual({undefined, undefined}, seen_by_another()),
    ?assertEqual(<<"travels">>, pyusdt:get_tag()).

spread_without_a_tag() ->
    ?assertEqual({0, []}, pyusdt:spread_tag(true)),
    ?assertEqual({undefined, undefined}, seen_by_another()),
    ?assertEqual([], seq_trace:get_token()),
    ?assertError(badarg, pyusdt:spread_tag(yes)).

%% The documented limit of a stock emulator, and the way out of it.
untagged_message_takes_it_away() ->
    pyusdt:put_tag("mine"),
    pyusdt:spread_tag(true),
    Me = self(),
    spawn(fun() -> seq_trace:set_token([]), Me ! untagged end),
    receive untagged -> ok end,
    ?assertEqual({undefined, undefined}, seen_by_another()),
    pyusdt:spread_tag(true),
    ?assertEqual({undefined, <<"mine">>}, seen_by_another()).

new_tag_while_spreading() ->
    pyusdt:put_tag("one"),
    pyusdt:spread_tag(true),
    pyusdt:put_tag("two"),
    ?assertEqual({undefined, <<"two">>}, seen_by_another()),
    pyusdt:put_tag(undefined),
    ?assertEqual({undefined, undefined}, seen_by_another()).

restore() ->
    ?assertEqual(true, pyusdt:restore_tag(true)),
    pyusdt:put_tag("kept"),
    Before = pyusdt:spread_tag(true),
    pyusdt:put_tag("other"),
    ?assertEqual(true, pyusdt:restore_tag(Before)),
    ?assertEqual(<<"kept">>, pyusdt:get_tag()),
    ?assertEqual({undefined, undefined}, seen_by_another()),
    ?assertEqual(true, pyusdt:restore_tag({3, <<"again">>})),
    ?assertEqual({undefined, <<"again">>}, seen_by_another()),
    ?assertEqual(true, pyusdt:restore_tag({0, <<"as received">>})),
    ?assertEqual({undefined, <<"as received">>}, {pyusdt:get_tag(), pyusdt:get_tag_data()}),
    ?assertEqual(true, pyusdt:restore_tag({0, []})),
    ?assertEqual(undefined, pyusdt:get_tag_data()).

restore_wrong() ->
    [?assertError(badarg, pyusdt:restore_tag(Wrong)) || Wrong <- [false, {1}, {a, <<"b">>}, {1, "list"}]].

users_token_is_left_alone() ->
    seq_trace:set_token(label, 17),
    pyusdt:put_tag("tag"),
    pyusdt:spread_tag(true),
    ?assertEqual({label, 17}, seq_trace:get_token(label)),
    ?assertEqual({undefined, undefined}, seen_by_another()),
    pyusdt:spread_tag(false),
    ?assertEqual({label, 17}, seq_trace:get_token(label)).

%% get_tag() and get_tag_data() of a process that has just got a message from this one.
seen_by_another() ->
    Other = spawn_link(fun() ->
        receive {From, look} -> From ! {self(), {pyusdt:get_tag(), pyusdt:get_tag_data()}} end
    end),
    Other ! {self(), look},
    receive {Other, Seen} -> Seen end.

%% New code over old, then the old one purged, while processes on every scheduler fire: none is
%% killed or fails.
upgrade_while_firing_test_() ->
    {timeout, 60, fun() ->
        Firing = [spawn_monitor(fun fire_until_told/0) || _ <- lists:seq(1, 2 * erlang:system_info(schedulers))],
        [begin
             ?assertEqual({module, Module}, code:load_file(Module)),
             timer:sleep(5),
             code:purge(Module)
         end || _ <- lists:seq(1, 10), Module <- [pyusdt_nif, pyusdt, pyusdt_tag]],
        ?assert(pyusdt:available()),
        [Pid ! stop || {Pid, _} <- Firing],
        ?assertEqual([normal || _ <- Firing],
                     [receive {'DOWN', Monitor, process, _, Reason} -> Reason end || {_, Monitor} <- Firing])
    end}.

fire_until_told() ->
    pyusdt:put_tag("upgrade"),
    [begin pyusdt:p(N, "a"), pyusdt:pn(N, 1) end || N <- lists:seq(1, 100)],
    receive stop -> ok after 0 -> fire_until_told() end.
