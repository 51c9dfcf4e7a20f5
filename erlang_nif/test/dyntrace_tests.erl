%% dyntrace behaves as OTP's module.
-module(dyntrace_tests).

-include_lib("eunit/include/eunit.hrl").

%% OTP's, wherever ours is in the code path.
otp_beam() ->
    filename:join([code:lib_dir(runtime_tools), "ebin", "dyntrace.beam"]).

our_beam() ->
    pyusdt_nif:library_path("otp/dyntrace.beam").

setup() ->
    code:purge(dyntrace),
    {module, dyntrace} = code:load_abs(filename:rootname(our_beam())).

dyntrace_test_() ->
    {setup, fun setup/0, [
        fun every_export_of_otp/0, fun answers/0, fun wrong_order/0, fun tags_are_pyusdts/0, fun discards_as_tracer/0,
        fun loads_over_otps/0]}.

every_export_of_otp() ->
    ?assertEqual(lists:sort(exports(otp_beam())), lists:sort(exports(our_beam()))).

exports(Beam) ->
    {ok, {dyntrace, [{exports, Exports}]}} = beam_lib:chunks(Beam, [exports]),
    Exports.

answers() ->
    ?assertEqual(true, dyntrace:available()),
    Values = [1, 2, 3, 4, "a", "b", "c", "d"],
    ?assertEqual([false || _ <- lists:seq(0, 8)],
                 [apply(dyntrace, p, lists:sublist(Values, N)) || N <- lists:seq(0, 8)]),
    ?assertEqual([false || _ <- lists:seq(0, 8)],
                 [apply(dyntrace, pn, [7 | lists:sublist(Values, N)]) || N <- lists:seq(0, 8)]),
    ?assertEqual({error, badarg}, {dyntrace:pn(951), dyntrace:pn(1024)}),
    ?assertEqual({false, false}, {dyntrace:user_trace_s1("a"), apply(dyntrace, user_trace_i4s4, [<<"tag">> | Values])}).

%% The error names this module, as with OTP's.
wrong_order() ->
    ?assertError(function_clause, dyntrace:p("a", 2, 3, 4, 5)),
    ?assertError(function_clause, dyntrace:pn(0, 1, 2, "a", 4, 5, 6, 7)),
    {Class, Module} = try dyntrace:p("a", 2, 3, 4, 5) catch Error:_:Stack -> {Error, element(1, hd(Stack))} end,
    ?assertEqual({error, dyntrace}, {Class, Module}).

tags_are_pyusdts() ->
    ?assertEqual(undefined, dyntrace:put_tag("both")),
    ?assertEqual(<<"both">>, pyusdt:get_tag()),
    ?assertEqual(<<"both">>, dyntrace:get_tag_data()),
    ?assertEqual({1, <<"both">>}, dyntrace:spread_tag(false)),
    ?assertEqual(true, dyntrace:restore_tag({0, []})),
    ?assertEqual(undefined, dyntrace:get_tag()).

%% The emulator takes the module for a tracer, and gets nothing from it.
discards_as_tracer() ->
    Traced = spawn_link(fun() -> receive stop -> ok end end),
    ?assertEqual(1, erlang:trace(Traced, true, [{tracer, dyntrace, []}, send, 'receive', call, procs, running])),
    Traced ! stop,
    Kinds = ["", "_call", "_garbage_collection", "_ports", "_procs", "_receive", "_running_ports", "_running_procs",
             "_send"],
    ?assertEqual([discard || _ <- Kinds],
                 [apply(dyntrace, list_to_atom("enabled" ++ Kind), [send, [], self()]) || Kind <- Kinds]),
    ?assertEqual([ok || _ <- Kinds],
                 [apply(dyntrace, list_to_atom("trace" ++ Kind), [send, [], self(), term, #{}]) || Kind <- Kinds]).

%% The upgrade that the start of a release is: over code with OTP's own library, and over our own.
%% (OTP's upgrades none, so ours is removed first.)
loads_over_otps() ->
    code:purge(dyntrace),
    code:delete(dyntrace),
    [begin
         code:purge(dyntrace),
         ?assertEqual({module, dyntrace}, code:load_abs(filename:rootname(Beam))),
         ?assertEqual(Available, dyntrace:available())
     end || {Beam, Available} <- [{otp_beam(), false}, {our_beam(), true}, {our_beam(), true}]].
