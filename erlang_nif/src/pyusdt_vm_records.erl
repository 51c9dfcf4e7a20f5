%% @doc Fields of records that have names of secrets: `#user{name, password}' of a module with debug information.
%%
%% The library shows these elements as `<redacted>'. The definitions are read from the files of the modules whose functions are
%% traced, before their patterns are set. Definitions stay known as long as the library is loaded.
-module(pyusdt_vm_records).

-export([learn/1, names_with/1]).

-define(MOST_MODULES, 100). % of a plan: reading one takes some milliseconds

%% @doc Of the modules that a plan traces.
-spec learn(pyusdt_vm_trace_plan:plan()) -> ok.
learn(#{patterns := Patterns}) ->
    Modules = lists:usort([Module || State <- [function, returns, global], {{Module, _, _}, _, _} <- maps:get(State, Patterns, [])]),
    lists:foreach(fun learn_module/1, [Module || Module <- lists:sublist(Modules, ?MOST_MODULES), get({?MODULE, Module}) =:= undefined]).

%% @doc The records of which that element is a secret.
-spec names_with(pos_integer()) -> [atom()].
names_with(Position) ->
    lists:usort([Name || {{?MODULE, _}, Records} <- get(), {Name, _, Positions} <- Records, lists:member(Position, Positions)]).

learn_module(Module) ->
    Records = [Record || Record <- read_records(code:which(Module)), element(3, Record) =/= []],
    _ = put({?MODULE, Module}, Records),
    lists:foreach(fun({Name, Size, Positions}) -> pyusdt_nif:secret_record(Name, Size, Positions) end, Records).

%% The forms of a module are large, so another process reads them; it ends by exit/1.
-dialyzer({nowarn_function, read_records/1}).
read_records(File) when is_list(File) ->
    {Pid, Monitor} = spawn_monitor(fun() -> exit({records, find_records(File)}) end),
    receive {'DOWN', Monitor, process, Pid, Reason} ->
        case Reason of {records, Records} -> Records; _ -> [] end
    end;
read_records(_) ->
    [].

find_records(File) ->
    case beam_lib:chunks(File, [abstract_code]) of
        {ok, {_, [{abstract_code, {_, Forms}}]}} ->
            [{Name, length(Fields) + 1, secret_positions(Fields)} || {attribute, _, record, {Name, Fields}} <- Forms, is_atom(Name)];
        _ ->
            []
    end.

secret_positions(Fields) ->
    [Position || {Position, Field} <- lists:zip(lists:seq(2, length(Fields) + 1), Fields), pyusdt_nif:is_secret(field_name(Field))].

field_name({typed_record_field, Field, _}) -> field_name(Field);
field_name({record_field, _, {atom, _, Name}, _}) -> Name;
field_name({record_field, _, {atom, _, Name}}) -> Name;
field_name(_) -> undefined.
