%% @doc The functions of a module that call themselves in tail position, directly or through other
%% functions of the module: server loops, and loops with an accumulator.
%%
%% The trace of a return makes such calls grow the stack, for ever if the loop never ends. They are
%% read from the code of the module's file, if it is the code that is loaded. The emulator's
%% instructions are only ever added to, so a table of their sizes serves all releases; code with
%% instructions beyond it counts as unknown.
-module(pyusdt_vm_tail_calls).

-export([loops/1]).

-define(LABEL, 1).
-define(FUNC_INFO, 2).
-define(CALL_LAST, 5).
-define(CALL_ONLY, 6).
-define(CALL_EXT_LAST, 8).
-define(CALL_EXT_ONLY, 78).

%% Operands of the instructions from 1 on, up to OTP 29.
-define(OPERANDS,
        {1,3,0,2,3,2,2,3,2,4,5,2,3,2,3,2,1,1,0,0,0,0,2,1,1,2,4,4,4,4,4,4,4,4,4,4,4,3,3,3,3,3,3,3,2,2,2,2,2,2,2,2,2,2,2,2,2,3,3,3,1,2,
         1,2,3,3,3,3,3,2,1,1,0,1,1,3,2,2,2,5,5,5,4,2,1,1,2,2,5,5,5,2,1,0,1,2,2,4,4,4,4,3,1,2,1,1,1,2,6,3,5,1,2,2,3,5,7,7,7,5,3,2,2,5,
         6,2,2,2,2,1,3,4,0,8,6,2,6,5,4,5,4,5,4,3,3,3,3,3,0,1,1,7,1,5,5,2,3,3,4,0,0,2,2,2,3,4,3,2,2,4,3,1,2,1,1,1,6,3,0,1,5,3,2,4,6,2,
         4,3,6,3,5}).

-type graph() :: #{{atom(), arity()} => [{atom(), arity()}]}.

%% @doc Of a module whose code is not known: none.
-spec loops(module()) -> [{atom(), arity()}].
loops(Module) ->
    try find_loops(read_graph(Module, code:which(Module)))
    catch _:_ -> [] % the file is not what a compiler makes
    end.

-spec read_graph(module(), term()) -> graph().
read_graph(Module, File) when is_list(File), File =/= [] ->
    Md5 = Module:module_info(md5),
    {ok, {Module, Md5}} = beam_lib:md5(File),
    {ok, {Module, [{atoms, Atoms}, {"Code", Code}, {"ImpT", Imports}]}} = beam_lib:chunks(File, [atoms, "Code", "ImpT"]),
    <<Size:32, _:Size/binary, Instructions/binary>> = Code,
    Names = maps:from_list(Atoms),
    <<_:32, Triples/binary>> = Imports,
    Own = [case Names of #{M := Module} -> {maps:get(F, Names), A}; _ -> other end || <<M:32, F:32, A:32>> <= Triples],
    read_instructions(Instructions, #{names => Names, imports => list_to_tuple(Own), now => none, entry => false, labels => #{}, calls => []});
read_graph(_Module, _File) ->
    #{}.

%% ---- instructions ----

read_instructions(<<>>, State) ->
    resolve_labels(State);
read_instructions(<<Code, Rest/binary>>, State) when Code =< tuple_size(?OPERANDS) ->
    {Operands, Next} = read_operands(element(Code, ?OPERANDS), Rest, []),
    read_instructions(Next, read_instruction(Code, Operands, State)).

read_instruction(?FUNC_INFO, [_, Function, Arity], #{names := Names} = State) ->
    State#{now := {maps:get(Function, Names), Arity}, entry := true};
read_instruction(?LABEL, [Label], #{entry := true, now := Now, labels := Labels} = State) ->
    State#{entry := false, labels := Labels#{Label => Now}};
read_instruction(Code, [_, Label | _], State) when Code =:= ?CALL_LAST; Code =:= ?CALL_ONLY ->
    add_call({label, Label}, State);
read_instruction(Code, [_, Import | _], #{imports := Imports} = State) when Code =:= ?CALL_EXT_LAST; Code =:= ?CALL_EXT_ONLY ->
    add_call(element(Import + 1, Imports), State);
read_instruction(_, _, State) ->
    State.

add_call(Callee, #{now := Now, calls := Calls} = State) ->
    State#{calls := [{Now, Callee} | Calls]}.

resolve_labels(#{labels := Labels, calls := Calls}) ->
    Resolved = [{Caller, case Callee of {label, Label} -> maps:get(Label, Labels, other); _ -> Callee end} || {Caller, Callee} <- Calls],
    lists:foldl(fun({Caller, Callee}, Graph) -> Graph#{Caller => [Callee | maps:get(Caller, Graph, [])]} end, #{}, Resolved).

%% ---- operands: compact terms, of which only the numbers of labels, atoms and imports matter ----

read_operands(0, Rest, Operands) ->
    {lists:reverse(Operands), Rest};
read_operands(N, Rest, Operands) ->
    {Operand, Next} = read_operand(Rest),
    read_operands(N - 1, Next, [Operand | Operands]).

read_operand(<<1:4, _:1, 7:3, Rest/binary>>) -> read_list(Rest);
read_operand(<<3:4, _:1, 7:3, Rest/binary>>) -> read_allocations(Rest);
read_operand(<<5:4, _:1, 7:3, Rest/binary>>) -> {_, Type} = read_operand(Rest), read_operand(Type); % a register with a type
read_operand(<<_:5, 7:3, Rest/binary>>) -> read_operand(Rest); % a literal, a floating-point register
read_operand(<<Value:4, 0:1, _:3, Rest/binary>>) -> {Value, Rest};
read_operand(<<High:3, 0:1, 1:1, _:3, Low, Rest/binary>>) -> {High bsl 8 bor Low, Rest};
read_operand(<<7:3, 1:1, 1:1, _:3, Rest/binary>>) -> {More, Number} = read_operand(Rest), read_bytes(More + 9, Number);
read_operand(<<Size:3, 1:1, 1:1, _:3, Rest/binary>>) -> read_bytes(Size + 2, Rest).

read_bytes(Size, Bytes) ->
    <<Value:Size/unit:8, Rest/binary>> = Bytes,
    {Value, Rest}.

read_list(Rest) ->
    {Length, Elements} = read_operand(Rest),
    {_, Next} = read_operands(Length, Elements, []),
    {list, Next}.

read_allocations(Rest) ->
    {Length, Pairs} = read_operand(Rest),
    {_, Next} = read_operands(2 * Length, Pairs, []),
    {list, Next}.

%% ---- functions that reach themselves ----

find_loops(Graph) ->
    [Function || Function <- maps:keys(Graph), is_reached(Function, maps:get(Function, Graph), Graph, #{})].

is_reached(_Function, [], _Graph, _Seen) -> false;
is_reached(Function, [Function | _], _Graph, _Seen) -> true;
is_reached(Function, [Next | Rest], Graph, Seen) when is_map_key(Next, Seen) -> is_reached(Function, Rest, Graph, Seen);
is_reached(Function, [Next | Rest], Graph, Seen) -> is_reached(Function, maps:get(Next, Graph, []) ++ Rest, Graph, Seen#{Next => []}).
