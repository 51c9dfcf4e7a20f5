%% @doc Checks the options of erltrace before anything is started.
%%
%% The result has all options, with defaults: text as UTF-8, processes by their numbers and pids,
%% pydtrace by its path. Or it says which option is wrong. The caller never crashes because of a
%% wrong option, and an unknown option is refused.
-module(erltrace_options).

-export([check_options/2, read_text/1]).

-export_type([settings/0]).

-type settings() :: #{pydtrace := file:filename(), pids := [pos_integer()], command := none | [binary()],
                      options := [{binary(), binary()}], arguments := [binary()], strict := boolean(),
                      buffer := pos_integer(), to := pid(), credits := non_neg_integer(), batch := pos_integer(),
                      interval := pos_integer() | infinity, nodes := none | erltrace_cluster:wanted(), metrics := none | [binary()], alerts := [binary()]}.

-type read_result() :: {ok, term()} | error.

-define(LARGEST, 16#ffffffff).

%% @doc Of `open/1' (handle) or `start_link/2' (stream), for the calling process.
-spec check_options(handle | stream, term()) -> {ok, settings()} | erltrace:error().
check_options(Kind, Options) when is_map(Options) ->
    try
        Given = maps:map(fun(Name, Value) -> check_option(Kind, Name, Value) end, Options),
        check_exclusive(Given),
        Settings = maps:merge(default_options(), Given),
        {ok, Settings#{pydtrace := find_program(maps:get(pydtrace, Settings))}}
    catch throw:{wrong, Text} -> {error, {dtrace, Text}}
    end;
check_options(_Kind, Options) ->
    {error, {dtrace, format_text("the options are a map, not ~0tp", [Options])}}.

default_options() ->
    #{pydtrace => none, pids => [], command => none, options => [], arguments => [], strict => false, buffer => 10000,
      to => self(), credits => 100, batch => 100, interval => 1000,
      nodes => none, metrics => none, alerts => []}.

check_option(Kind, Name, Value) ->
    case lists:member(Name, option_names(Kind)) of
        true -> check_option(Name, Value);
        false -> refuse_unknown(Kind, Name)
    end.

check_option(Name, Value) ->
    {Read, Words} = find_rule(Name),
    case Read(Value) of
        {ok, Known} -> Known;
        error -> throw_wrong("option ~s: it is ~s, not ~0tp", [Name, Words, Value])
    end.

-spec refuse_unknown(handle | stream, term()) -> no_return().
refuse_unknown(Kind, Name) ->
    case lists:member(Name, option_names(stream)) of
        true -> throw_wrong("option ~s: start_link/2 takes it, open/1 does not", [Name]);
        false -> throw_wrong("option ~0tp: there is none of this name; there are ~s", [Name, lists:join(", ", to_strings(option_names(Kind)))])
    end.

option_names(handle) -> [arguments, buffer, command, nodes, options, pids, pydtrace, strict];
option_names(stream) -> option_names(handle) ++ [alerts, batch, credits, interval, metrics, to].

to_strings(Names) ->
    [atom_to_list(Name) || Name <- Names].

%% Two ways to name the traced processes.
check_exclusive(#{pids := _, command := _}) -> throw_wrong("options pids and command: what is traced is one or the other", []);
check_exclusive(#{nodes := _, command := _}) -> throw_wrong("options nodes and command: what is traced is one or the other", []);
check_exclusive(#{nodes := _, pids := _}) -> throw_wrong("options nodes and pids: what is traced is one or the other", []);
check_exclusive(_) -> ok.

%% The function that reads the value of an option, and the permitted values in words.
find_rule(alerts) -> {fun read_texts/1, "a list of strings"};
find_rule(arguments) -> {fun read_texts/1, "a list of strings"};
find_rule(batch) -> {fun read_positive/1, "a number from 1 to 4294967295"};
find_rule(buffer) -> {fun read_positive/1, "a number from 1 to 4294967295"};
find_rule(command) -> {fun read_words/1, "a list of words, each a string"};
find_rule(credits) -> {fun read_credits/1, "a number from 0 to 4294967295"};
find_rule(interval) -> {fun read_interval/1, "infinity, or a number of milliseconds from 1 to 4294967295"};
find_rule(metrics) -> {fun read_texts/1, "a list of strings"};
find_rule(nodes) -> {fun read_nodes/1, "visible, or a list of nodes"};
find_rule(options) -> {fun read_pairs/1, "a map of strings to strings"};
find_rule(pids) -> {fun read_pids/1, "all, self, or a list of process ids"};
find_rule(pydtrace) -> {fun read_text/1, "a path, as a string"};
find_rule(strict) -> {fun read_boolean/1, "true or false"};
find_rule(to) -> {fun read_receiver/1, "a pid, or the name of a process that is registered here"}.

%% ---- reading ----

%% @doc UTF-8 without NUL, of a string or a binary.
-spec read_text(term()) -> {ok, binary()} | error.
read_text(Given) ->
    try unicode:characters_to_binary(Given) of
        Binary when is_binary(Binary) -> refuse_nul(Binary);
        _NoText -> error
    catch error:badarg -> error
    end.

refuse_nul(Binary) ->
    case binary:match(Binary, <<0>>) of
        nomatch -> {ok, Binary};
        _ -> error
    end.

%% A word may be a file's name, which can be any bytes.
-spec read_word(term()) -> {ok, binary()} | error.
read_word(Given) when is_binary(Given) -> refuse_nul(Given);
read_word(Given) -> read_text(Given).

-spec read_texts(term()) -> read_result().
read_texts(Given) -> read_all(fun read_text/1, Given).

-spec read_words(term()) -> read_result().
read_words([_ | _] = Given) -> read_all(fun read_word/1, Given);
read_words(_) -> error.

-spec read_pairs(term()) -> read_result().
read_pairs(Given) when is_map(Given) -> read_all(fun read_pair/1, maps:to_list(Given));
read_pairs(_) -> error.

read_pair({Name, Value}) ->
    case {read_text(Name), read_text(Value)} of
        {{ok, NameText}, {ok, ValueText}} -> {ok, {NameText, ValueText}};
        _ -> error
    end.

-spec read_pids(term()) -> read_result().
read_pids(all) -> {ok, []};
read_pids(self) -> {ok, [list_to_integer(os:getpid())]};
read_pids([_ | _] = Given) -> read_all(fun read_pid/1, Given); % not an empty one, which pydtrace takes for all
read_pids(_) -> error.

read_pid(Given) when is_integer(Given), Given > 0, Given < 1 bsl 31 -> {ok, Given};
read_pid(_) -> error.

-spec read_nodes(term()) -> read_result().
read_nodes(visible) -> {ok, visible};
read_nodes([_ | _] = Given) -> read_all(fun read_node/1, Given);
read_nodes(_) -> error.

read_node(Given) when is_atom(Given) -> {ok, Given};
read_node(_) -> error.

read_positive(Given) when is_integer(Given), Given > 0, Given =< ?LARGEST -> {ok, Given};
read_positive(_) -> error.

read_credits(0) -> {ok, 0};
read_credits(Given) -> read_positive(Given).

read_interval(infinity) -> {ok, infinity};
read_interval(Given) -> read_positive(Given).

read_boolean(Given) when is_boolean(Given) -> {ok, Given};
read_boolean(_) -> error.

-spec read_receiver(term()) -> read_result().
read_receiver(Given) when is_pid(Given) -> {ok, Given};
read_receiver(Given) when is_atom(Given) ->
    case whereis(Given) of
        Pid when is_pid(Pid) -> {ok, Pid};
        _ -> error
    end;
read_receiver(_) -> error.

%% Each element, read; `error' if one is invalid, or if this is no list.
read_all(Read, [First | Rest]) ->
    case {Read(First), read_all(Read, Rest)} of
        {{ok, Known}, {ok, Others}} -> {ok, [Known | Others]};
        _ -> error
    end;
read_all(_Read, []) -> {ok, []};
read_all(_Read, _) -> error.

%% ---- pydtrace ----

%% The application's environment may name it; a name without a folder is looked up on PATH.
find_program(none) ->
    case application:get_env(pyusdt, pydtrace) of
        undefined ->
            find_program("pydtrace", "there is no pydtrace on PATH: the environment of the application pyusdt can say where "
                                "it is (pydtrace)");
        {ok, Given} ->
            find_named_program(check_option(pydtrace, Given), "the environment of the application pyusdt names (pydtrace)")
    end;
find_program(Name) ->
    find_named_program(Name, "the option pydtrace names").

find_named_program(Name, Where) ->
    find_program(unicode:characters_to_list(Name), format_text("there is no program ~ts that can be run, which ~s", [Name, Where])).

find_program(Name, Else) ->
    case os:find_executable(Name) of
        false -> throw_wrong("~ts", [Else]);
        Path -> Path
    end.

%% ---- errors ----

-spec throw_wrong(string(), [term()]) -> no_return().
throw_wrong(Format, Arguments) ->
    throw({wrong, format_text(Format, Arguments)}).

format_text(Format, Arguments) ->
    lists:flatten(io_lib:format(Format, Arguments)).
