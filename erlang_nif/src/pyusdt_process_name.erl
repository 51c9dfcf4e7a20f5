%% @private
%% @doc What a process is called, in the same words everywhere: its registered name, its label (OTP 27), else its first function.
%%
%% Behind the first function is, in brackets, who started the process: `shop_worker:init/1 (shop_sup)', if that has a registered name.
-module(pyusdt_process_name).

-export([name/1, format_function/3]).

-define(ANY_FUN, {erlang, apply, 2}).
-define(LABEL_DEPTH, 20).

%% OTP 25's own type of process_info/2 has no {dictionary, Key}, which OTP 26.2 has.
-dialyzer({nowarn_function, read_dictionary/2}).

%% @doc "" if the process has ended. A process of another node is its pid.
-spec name(pid()) -> string().
name(Pid) when node(Pid) =/= node() ->
    pid_to_list(Pid);
name(Pid) ->
    case process_info(Pid, [registered_name, initial_call]) of
        [{_, Name}, _] when is_atom(Name) -> atom_to_list(Name);
        [_, {_, Call}] -> describe(Pid, Call, read_dictionary(Pid, ['$process_label', '$initial_call', '$ancestors']));
        undefined -> ""
    end.

describe(_Pid, _Call, [Label, _, _]) when Label =/= undefined ->
    lists:flatten(io_lib:format("~0tP", [Label, ?LABEL_DEPTH]));
describe(_Pid, _Call, [_, {Module, Function, Arity}, Ancestors]) when is_atom(Module), is_atom(Function), is_integer(Arity) ->
    of_starter(format_function(Module, Function, Arity), first_name(Ancestors));
describe(Pid, {Module, Function, Arity} = Call, _) ->
    of_starter(format_function(Module, Function, Arity), case Call of ?ANY_FUN -> parent_name(Pid); _ -> [] end).

of_starter(Function, []) -> Function;
of_starter(Function, [Starter]) -> Function ++ " (" ++ atom_to_list(Starter) ++ ")".

%% $ancestors has a name or a pid of each.
first_name([Name | _]) when is_atom(Name) -> [Name];
first_name([Pid | _]) when is_pid(Pid) -> registered_name(Pid);
first_name(_) -> [].

parent_name(Pid) ->
    case process_info(Pid, parent) of
        {parent, Parent} when is_pid(Parent) -> registered_name(Parent);
        _ -> []
    end.

registered_name(Pid) ->
    case node(Pid) =:= node() andalso process_info(Pid, registered_name) of
        {registered_name, Name} -> [Name];
        _ -> []
    end.

%% `undefined' for what is not there. OTP before 26.2 copies all of it.
read_dictionary(Pid, Keys) ->
    try process_info(Pid, [{dictionary, Key} || Key <- Keys]) of
        undefined -> [undefined || _ <- Keys];
        Values -> [Value || {_, Value} <- Values]
    catch
        error:badarg ->
            case process_info(Pid, dictionary) of
                {_, Dictionary} -> [proplists:get_value(Key, Dictionary) || Key <- Keys];
                undefined -> [undefined || _ <- Keys]
            end
    end.

%% @doc As Erlang writes it, or Elixir: the same as in the probes.
-spec format_function(module(), atom(), arity()) -> string().
format_function(Module, Function, Arity) ->
    lists:flatten(case atom_to_list(Module) of
                      "Elixir." ++ Name -> io_lib:format("~ts.~ts/~b", [Name, Function, Arity]);
                      _ -> io_lib:format("~tw:~tw/~b", [Module, Function, Arity])
                  end).
