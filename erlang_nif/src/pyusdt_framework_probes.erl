%% @doc The probes of pyusdt_instrument, the same for Erlang as for Python
%% (src/pyusdt/framework_probes.py).
%%
%% A probe is made once in a node. It is off before it is made, and also if the program has defined
%% it with other arguments.
-module(pyusdt_framework_probes).

-export([make/0, is_made/0, is_wanted/2, fire/3, probe/2]).

-include("pyusdt_framework_probes.hrl").

%% @doc Make all of them. It writes files the first time.
-spec make() -> ok.
make() ->
    maps:foreach(fun make/2, ?PROBES),
    persistent_term:put(?MODULE, made).

%% @doc Whether that was done, even if some of the probes cannot be made.
-spec is_made() -> boolean().
is_made() ->
    persistent_term:get(?MODULE, none) =:= made.

make(Provider, Probes) ->
    Own = pyusdt:provider(atom_to_list(Provider)),
    lists:foreach(fun({Name, Arguments}) ->
        pyusdt_instrument:count_failures(Provider, fun() ->
            persistent_term:put({?MODULE, Provider, Name}, pyusdt:probe(Own, atom_to_list(Name), Arguments))
        end)
    end, Probes).

-spec probe(atom(), atom()) -> pyusdt:probe() | none.
probe(Provider, Name) ->
    persistent_term:get({?MODULE, Provider, Name}, none).

-spec is_wanted(atom(), atom()) -> boolean().
is_wanted(Provider, Name) ->
    case probe(Provider, Name) of
        none -> false;
        Probe -> pyusdt:enabled(Probe) =:= true
    end.

-spec fire(atom(), atom(), [term()]) -> pyusdt:answer().
fire(Provider, Name, Values) ->
    case probe(Provider, Name) of
        none -> false;
        Probe -> pyusdt:fire(Probe, Values)
    end.
