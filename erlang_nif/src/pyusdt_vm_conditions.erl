%% @doc Match specifications from the predicates of tracers: `term(arg.params, 1, "country") == "at"'.
%%
%% A tracer's session carries conditions on the parameters of functions (src/pydtrace/dlang/types/term_conditions.py). A call
%% that no session wants is rejected by the emulator, so it makes no event. The tracer evaluates its predicate once more, so a
%% guard may let too many calls through, and never too few: an atom that the node does not have yet, values of another type
%% than the constant's, lists, and secrets are let through.
%%
%% What a session carries is untrusted: no atom is made of it, and what cannot be read is no condition.
-module(pyusdt_vm_conditions).

-export([read/0, match/4]).

-export_type([conditions/0]).

-type path() :: [pos_integer() | binary()].
-type condition() :: {path(), Operation :: binary(), integer() | binary()}.
-type row() :: {Probe :: binary(), Module :: binary(), Function :: binary(), Alternatives :: [[condition()]]}.
-type conditions() :: #{Session :: non_neg_integer() => [row()]}.

-define(MOST_PARAMETERS, 255).
-define(MOST_ALTERNATIVES, 16).
-define(INT64, (1 bsl 63)).

%% @doc The conditions of the sessions that have any.
-spec read() -> conditions().
read() ->
    maps:from_list([{Session, Rows} || {Session, Binary} <- pyusdt_nif:vm_conditions(), Rows <- read_rows(Binary)]).

read_rows(Binary) ->
    try binary_to_term(Binary, [safe]) of
        Rows when is_list(Rows), length(Rows) > 0 ->
            case lists:all(fun is_row/1, Rows) of true -> [Rows]; false -> [] end;
        _ -> []
    catch error:badarg -> []
    end.

is_row({Probe, Module, Function, [_ | _] = Alternatives}) ->
    lists:all(fun is_binary/1, [Probe, Module, Function]) andalso
        lists:all(fun(All) -> is_list(All) andalso lists:all(fun is_condition/1, All) end, Alternatives);
is_row(_) ->
    false.

is_condition({Path, Operation, Constant}) when is_list(Path) ->
    lists:all(fun(Step) -> is_binary(Step) orelse is_integer(Step) andalso Step > 0 end, Path) andalso
        lists:member(Operation, [<<"=:=">>, <<"=/=">>, <<"<">>, <<"=<">>, <<">">>, <<">=">>]) andalso
        (is_integer(Constant) orelse is_binary(Constant));
is_condition(_) ->
    false.

%% @doc The match specification of a function for an entry probe: `true' matches every call. Secrets: values with names of
%% secrets may be compared.
-spec match(atom(), mfa(), conditions(), Secrets :: boolean()) -> true | [tuple()].
match(_Probe, _MFA, Conditions, _Secrets) when map_size(Conditions) =:= 0 ->
    true;
match(Probe, {Module, Function, Arity} = MFA, Conditions, Secrets) when Arity > 0, Arity =< ?MOST_PARAMETERS ->
    Wanting = pyusdt_nif:vm_sessions(Probe, Module, Function),
    All = [alternatives(Probe, MFA, maps:get(Session, Conditions, [])) || is_list(Wanting), Session <- Wanting],
    case lists:member(always, All) orelse All =:= [] of
        true -> true;
        false -> clauses(lists:usort(lists:append(All)), Arity, Secrets)
    end;
match(_Probe, _MFA, _Conditions, _Secrets) ->
    true.

alternatives(Probe, {Module, Function, _}, Rows) ->
    Found = [Alternatives || {Of, In, At, Alternatives} <- Rows, pyusdt_nif:vm_is_matched(Of, Probe),
                             pyusdt_nif:vm_is_matched(In, Module), pyusdt_nif:vm_is_matched(At, Function)],
    case lists:append(Found) of
        [] -> always;
        All -> case lists:member([], All) of true -> always; false -> All end
    end.

clauses(Alternatives, Arity, Secrets) ->
    Head = [parameter(N) || N <- lists:seq(1, Arity)],
    Clauses = [{Head, [Guard || Condition <- Conditions, Guard <- [guard(Condition, Arity, Secrets)], Guard =/= true], []}
               || Conditions <- Alternatives],
    case length(Clauses) > ?MOST_ALTERNATIVES orelse lists:any(fun({_, Guards, _}) -> Guards =:= [] end, Clauses) of
        true -> true;
        false -> accepted(Clauses, Arity)
    end.

%% Or everything, if the emulator does not know such guards.
accepted(Clauses, Arity) ->
    case erlang:match_spec_test(lists:duplicate(Arity, none), Clauses, trace) of
        {ok, _, _, _} -> Clauses;
        {error, _} -> true
    end.

parameter(N) ->
    binary_to_atom(<<"$", (integer_to_binary(N))/binary>>). % of at most 255

guard({[N | Path], Operation, Constant}, Arity, Secrets) when is_integer(N), N =< Arity ->
    case Secrets orelse not lists:any(fun pyusdt_nif:is_secret/1, Path) of
        true -> value(parameter(N), Path, {binary_to_atom(Operation), Constant});
        false -> true
    end;
guard(_, _, _) ->
    true.

%% ---- one value: true lets everything through ----

value(Value, [], {Operation, Constant}) when is_integer(Constant) ->
    any_of([{'not', {is_integer, Value}}, {'>=', Value, ?INT64}, {'<', Value, -?INT64}, {Operation, Value, Constant}]);
value(Value, [], {'=:=', Text}) ->
    case spellings(Text) of
        unknown -> true;
        {Terms, Atoms} -> any_of([Atoms | [{'=:=', Value, {const, Term}} || Term <- Terms]], Value)
    end;
value(Value, [], {'=/=', Text}) ->
    {'=/=', Value, Text};
value(_Value, [], _) ->
    true;
%% A pair may be a name and its secret.
value(Value, [N | Path], Condition) when is_integer(N) ->
    Least = max(N, 3),
    case value({element, N, Value}, Path, Condition) of
        true -> true;
        Guard -> any_of([{'not', {is_tuple, Value}}, {'<', {size, Value}, Least}, Guard
                         | [{'=:=', {element, 1, Value}, {const, Name}} || Name <- pyusdt_vm_records:names_with(N)]])
    end;
value(Value, [Key | Path], Condition) ->
    case spellings(Key) of
        unknown -> true;
        {Keys, _} -> in_map(Value, Keys, [value({map_get, {const, Each}, Value}, Path, Condition) || Each <- Keys])
    end.

%% A map without these keys may have another spelling.
in_map(Value, Keys, Guards) ->
    case lists:member(true, Guards) of
        true -> true;
        false ->
            There = [{is_map_key, {const, Key}, Value} || Key <- Keys],
            any_of([{'not', {is_map, Value}}, {'not', any_of(There)}
                    | [{'andalso', Is, Guard} || {Is, Guard} <- lists:zip(There, Guards)]])
    end.

any_of(Guards) ->
    lists:foldr(fun(Guard, none) -> Guard; (Guard, Others) -> {'orelse', Guard, Others} end, none, Guards).

any_of([all | Guards], Value) -> any_of([{is_atom, Value} | Guards]);
any_of([known | Guards], _Value) -> any_of(Guards).

%% The terms that a tracer shows as this text: a binary, a string, and an atom, if the node has it (else any atom may become
%% one). `unknown': others are shown so, too.
spellings(Text) ->
    case re:run(Text, "^[A-Za-z_][A-Za-z0-9_ @./:-]*$", [{capture, none}]) of
        match ->
            {Atoms, Are_known} = existing_atoms(Text),
            {[Text, binary_to_list(Text) | Atoms], case Are_known of true -> known; false -> all end};
        nomatch ->
            unknown
    end.

%% Elixir's modules are shown without their prefix.
existing_atoms(Text) ->
    Found = [[Atom || Atom <- existing_atom(Name)] || Name <- [Text, <<"Elixir.", Text/binary>>]],
    {lists:append(Found), lists:all(fun(Atoms) -> Atoms =/= [] end, Found) orelse is_plain(Text) andalso hd(Found) =/= []}.

is_plain(<<First, _/binary>>) -> First >= $a andalso First =< $z orelse First =:= $_.

existing_atom(Name) ->
    try [binary_to_existing_atom(Name)]
    catch error:_ -> []
    end.
