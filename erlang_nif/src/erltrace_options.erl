%% @doc What erltrace is asked for, looked at before anything is started.
%%
%% In:  the options as the caller gave them.
%% Out: all of them, with defaults; text as UTF-8, processes by their numbers and pids, pydtrace by its path. Or what is
%% wrong with one of them.
%% Always: no caller crashes by what he gave, and what is not understood is refused.
-module(erltrace_options).

-export([checked/2, text/1]).

-export_type([settings/0]).

-type settings() :: #{pydtrace := file:filename(), pids := [pos_integer()], command := none | [binary()],
                      options := [{binary(), binary()}], arguments := [binary()], strict := boolean(),
                      buffer := pos_integer(), to := pid(), credits := non_neg_integer(), batch := pos_integer(),
                      interval := pos_integer() | infinity, nodes := none | erltrace_cluster:wanted(), metrics := none | [binary()], alerts := [binary()]}.

-type read() :: {ok, term()} | error.

-define(LARGEST, 16#ffffffff).

%% @doc Of `open/1' (handle) or `start_link/2' (stream), for the calling process.
-spec checked(handle | stream, term()) -> {ok, settings()} | erltrace:error().
checked(Kind, Options) when is_map(Options) ->
    try
        Given = maps:map(fun(Name, Value) -> value(Kind, Name, Value) end, Options),
        only_one(Given),
        Settings = maps:merge(defaults(), Given),
        {ok, Settings#{pydtrace := program(maps:get(pydtrace, Settings))}}
    catch throw:{wrong, Text} -> {error, {dtrace, Text}}
    end;
checked(_Kind, Options) ->
    {error, {dtrace, format("the options are a map, not ~0tp", [Options])}}.

defaults() ->
    #{pydtrace => none, pids => [], command => none, options => [], arguments => [], strict => false, buffer => 10000,
      to => self(), credits => 100, batch => 100, interval => 1000,
      nodes => none, metrics => none, alerts => []}.

value(Kind, Name, Value) ->
    case lists:member(Name, names(Kind)) of
        true -> value(Name, Value);
        false -> unknown(Kind, Name)
    end.

value(Name, Value) ->
    {Read, Words} = rule(Name),
    case Read(Value) of
        {ok, Known} -> Known;
        error -> wrong("option ~s: it is ~s, not ~0tp", [Name, Words, Value])
    end.

-spec unknown(handle | stream, term()) -> no_return().
unknown(Kind, Name) ->
    case lists:member(Name, names(stream)) of
        true -> wrong("option ~s: start_link/2 takes it, open/1 does not", [Name]);
        false -> wrong("option ~0tp: there is none of this name; there are ~s", [Name, lists:join(", ", strings(names(Kind)))])
    end.

names(handle) -> [arguments, buffer, command, nodes, options, pids, pydtrace, strict];
names(stream) -> names(handle) ++ [alerts, batch, credits, interval, metrics, to].

strings(Names) ->
    [atom_to_list(Name) || Name <- Names].

%% Two ways to say what is traced.
only_one(#{pids := _, command := _}) -> wrong("options pids and command: what is traced is one or the other", []);
only_one(#{nodes := _, command := _}) -> wrong("options nodes and command: what is traced is one or the other", []);
only_one(#{nodes := _, pids := _}) -> wrong("options nodes and pids: what is traced is one or the other", []);
only_one(_) -> ok.

%% How the value of an option is read, and in words what it can be.
rule(alerts) -> {fun texts/1, "a list of strings"};
rule(arguments) -> {fun texts/1, "a list of strings"};
rule(batch) -> {fun positive/1, "a number from 1 to 4294967295"};
rule(buffer) -> {fun positive/1, "a number from 1 to 4294967295"};
rule(command) -> {fun words/1, "a list of words, each a string"};
rule(credits) -> {fun credits/1, "a number from 0 to 4294967295"};
rule(interval) -> {fun interval/1, "infinity, or a number of milliseconds from 1 to 4294967295"};
rule(metrics) -> {fun texts/1, "a list of strings"};
rule(nodes) -> {fun nodes/1, "visible, or a list of nodes"};
rule(options) -> {fun pairs/1, "a map of strings to strings"};
rule(pids) -> {fun pids/1, "all, self, or a list of process ids"};
rule(pydtrace) -> {fun text/1, "a path, as a string"};
rule(strict) -> {fun boolean/1, "true or false"};
rule(to) -> {fun receiver/1, "a pid, or the name of a process that is registered here"}.

%% ---- reading ----

%% @doc UTF-8 without NUL, of a string or a binary.
-spec text(term()) -> {ok, binary()} | error.
text(Given) ->
    try unicode:characters_to_binary(Given) of
        Binary when is_binary(Binary) -> without_nul(Binary);
        _NoText -> error
    catch error:badarg -> error
    end.

without_nul(Binary) ->
    case binary:match(Binary, <<0>>) of
        nomatch -> {ok, Binary};
        _ -> error
    end.

%% A word may be a file's name, which can be any bytes.
-spec word(term()) -> {ok, binary()} | error.
word(Given) when is_binary(Given) -> without_nul(Given);
word(Given) -> text(Given).

-spec texts(term()) -> read().
texts(Given) -> all(fun text/1, Given).

-spec words(term()) -> read().
words([_ | _] = Given) -> all(fun word/1, Given);
words(_) -> error.

-spec pairs(term()) -> read().
pairs(Given) when is_map(Given) -> all(fun pair/1, maps:to_list(Given));
pairs(_) -> error.

pair({Name, Value}) ->
    case {text(Name), text(Value)} of
        {{ok, NameText}, {ok, ValueText}} -> {ok, {NameText, ValueText}};
        _ -> error
    end.

-spec pids(term()) -> read().
pids(all) -> {ok, []};
pids(self) -> {ok, [list_to_integer(os:getpid())]};
pids([_ | _] = Given) -> all(fun pid/1, Given); % not an empty one, which pydtrace takes for all
pids(_) -> error.

pid(Given) when is_integer(Given), Given > 0, Given < 1 bsl 31 -> {ok, Given};
pid(_) -> error.

-spec nodes(term()) -> read().
nodes(visible) -> {ok, visible};
nodes([_ | _] = Given) -> all(fun a_node/1, Given);
nodes(_) -> error.

a_node(Given) when is_atom(Given) -> {ok, Given};
a_node(_) -> error.

positive(Given) when is_integer(Given), Given > 0, Given =< ?LARGEST -> {ok, Given};
positive(_) -> error.

credits(0) -> {ok, 0};
credits(Given) -> positive(Given).

interval(infinity) -> {ok, infinity};
interval(Given) -> positive(Given).

boolean(Given) when is_boolean(Given) -> {ok, Given};
boolean(_) -> error.

-spec receiver(term()) -> read().
receiver(Given) when is_pid(Given) -> {ok, Given};
receiver(Given) when is_atom(Given) ->
    case whereis(Given) of
        Pid when is_pid(Pid) -> {ok, Pid};
        _ -> error
    end;
receiver(_) -> error.

%% Each element, read; `error' where one can not be, or where this is no list.
all(Read, [First | Rest]) ->
    case {Read(First), all(Read, Rest)} of
        {{ok, Known}, {ok, Others}} -> {ok, [Known | Others]};
        _ -> error
    end;
all(_Read, []) -> {ok, []};
all(_Read, _) -> error.

%% ---- pydtrace ----

%% The application's environment may name it; a name without a folder is looked for on PATH.
program(none) ->
    case application:get_env(pyusdt, pydtrace) of
        undefined ->
            program("pydtrace", "there is no pydtrace on PATH: the environment of the application pyusdt can say where "
                                "it is (pydtrace)");
        {ok, Given} ->
            named(value(pydtrace, Given), "the environment of the application pyusdt names (pydtrace)")
    end;
program(Name) ->
    named(Name, "the option pydtrace names").

named(Name, Where) ->
    program(unicode:characters_to_list(Name), format("there is no program ~ts that can be run, which ~s", [Name, Where])).

program(Name, Else) ->
    case os:find_executable(Name) of
        false -> wrong("~ts", [Else]);
        Path -> Path
    end.

%% ---- what is wrong ----

-spec wrong(string(), [term()]) -> no_return().
wrong(Format, Arguments) ->
    throw({wrong, format(Format, Arguments)}).

format(Format, Arguments) ->
    lists:flatten(io_lib:format(Format, Arguments)).
