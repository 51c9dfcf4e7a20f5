%% p and pn, which both pyusdt and dyntrace define: a call from one to the other would cost 5 % of
%% an empty NIF.
%%
%% The process's tag goes with each event, and its stack if a session wants it. A wrong order of
%% arguments is a function_clause of the called module, traced or not.

%% The enabled test comes first if no order of arguments is wrong.
-spec p() -> pyusdt:answer().
p() ->
    case pyusdt_nif:enabled() of
        true -> pyusdt_nif:fire(pyusdt_stack:context(), []);
        Off -> Off
    end.

-spec p(pyusdt:probe_arg()) -> pyusdt:answer().
p(A1) ->
    case pyusdt_nif:enabled() of
        true -> pyusdt_nif:fire(pyusdt_stack:context(), [A1]);
        Off -> Off
    end.

-spec p(pyusdt:probe_arg(), pyusdt:probe_arg()) -> pyusdt:answer().
p(A1, A2) ->
    case pyusdt_nif:enabled() of
        true -> pyusdt_nif:fire(pyusdt_stack:context(), [A1, A2]);
        Off -> Off
    end.

-spec p(pyusdt:probe_arg(), pyusdt:probe_arg(), pyusdt:probe_arg()) -> pyusdt:answer().
p(A1, A2, A3) ->
    case pyusdt_nif:enabled() of
        true -> pyusdt_nif:fire(pyusdt_stack:context(), [A1, A2, A3]);
        Off -> Off
    end.

-spec p(pyusdt:probe_arg(), pyusdt:probe_arg(), pyusdt:probe_arg(), pyusdt:probe_arg()) -> pyusdt:answer().
p(A1, A2, A3, A4) ->
    case pyusdt_nif:enabled() of
        true -> pyusdt_nif:fire(pyusdt_stack:context(), [A1, A2, A3, A4]);
        Off -> Off
    end.

-spec p(integer(), pyusdt:probe_arg(), pyusdt:probe_arg(), pyusdt:probe_arg(), pyusdt:probe_arg()) -> pyusdt:answer().
p(A1, A2, A3, A4, A5) when is_integer(A1) ->
    case pyusdt_nif:enabled() of
        true -> pyusdt_nif:fire(pyusdt_stack:context(), [A1, A2, A3, A4, A5]);
        Off -> Off
    end.

-spec p(integer(), integer(),
        pyusdt:probe_arg(), pyusdt:probe_arg(), pyusdt:probe_arg(), pyusdt:probe_arg()) -> pyusdt:answer().
p(A1, A2, A3, A4, A5, A6) when is_integer(A1), is_integer(A2) ->
    case pyusdt_nif:enabled() of
        true -> pyusdt_nif:fire(pyusdt_stack:context(), [A1, A2, A3, A4, A5, A6]);
        Off -> Off
    end.

-spec p(integer(), integer(), integer(),
        pyusdt:probe_arg(), pyusdt:probe_arg(), pyusdt:probe_arg(), pyusdt:probe_arg()) -> pyusdt:answer().
p(A1, A2, A3, A4, A5, A6, A7) when is_integer(A1), is_integer(A2), is_integer(A3) ->
    case pyusdt_nif:enabled() of
        true -> pyusdt_nif:fire(pyusdt_stack:context(), [A1, A2, A3, A4, A5, A6, A7]);
        Off -> Off
    end.

-spec p(integer(), integer(), integer(), integer(),
        pyusdt:probe_arg(), pyusdt:probe_arg(), pyusdt:probe_arg(), pyusdt:probe_arg()) -> pyusdt:answer().
p(A1, A2, A3, A4, A5, A6, A7, A8) when is_integer(A1), is_integer(A2), is_integer(A3), is_integer(A4) ->
    case pyusdt_nif:enabled() of
        true -> pyusdt_nif:fire(pyusdt_stack:context(), [A1, A2, A3, A4, A5, A6, A7, A8]);
        Off -> Off
    end.

%% Whether there is such a probe is answered before whether it is enabled.
-spec pn(pyusdt:number_of_probe()) -> pyusdt:answer().
pn(Number) ->
    case pyusdt_nif:enabled(Number) of
        true -> pyusdt_nif:fire(Number, pyusdt_stack:context(Number), []);
        Not -> Not
    end.

-spec pn(pyusdt:number_of_probe(), pyusdt:probe_arg()) -> pyusdt:answer().
pn(Number, A1) ->
    case pyusdt_nif:enabled(Number) of
        true -> pyusdt_nif:fire(Number, pyusdt_stack:context(Number), [A1]);
        Not -> Not
    end.

-spec pn(pyusdt:number_of_probe(), pyusdt:probe_arg(), pyusdt:probe_arg()) -> pyusdt:answer().
pn(Number, A1, A2) ->
    case pyusdt_nif:enabled(Number) of
        true -> pyusdt_nif:fire(Number, pyusdt_stack:context(Number), [A1, A2]);
        Not -> Not
    end.

-spec pn(pyusdt:number_of_probe(), pyusdt:probe_arg(), pyusdt:probe_arg(), pyusdt:probe_arg()) -> pyusdt:answer().
pn(Number, A1, A2, A3) ->
    case pyusdt_nif:enabled(Number) of
        true -> pyusdt_nif:fire(Number, pyusdt_stack:context(Number), [A1, A2, A3]);
        Not -> Not
    end.

-spec pn(pyusdt:number_of_probe(),
         pyusdt:probe_arg(), pyusdt:probe_arg(), pyusdt:probe_arg(), pyusdt:probe_arg()) -> pyusdt:answer().
pn(Number, A1, A2, A3, A4) ->
    case pyusdt_nif:enabled(Number) of
        true -> pyusdt_nif:fire(Number, pyusdt_stack:context(Number), [A1, A2, A3, A4]);
        Not -> Not
    end.

-spec pn(pyusdt:number_of_probe(), integer(),
         pyusdt:probe_arg(), pyusdt:probe_arg(), pyusdt:probe_arg(), pyusdt:probe_arg()) -> pyusdt:answer().
pn(Number, A1, A2, A3, A4, A5) when is_integer(A1) ->
    case pyusdt_nif:enabled(Number) of
        true -> pyusdt_nif:fire(Number, pyusdt_stack:context(Number), [A1, A2, A3, A4, A5]);
        Not -> Not
    end.

-spec pn(pyusdt:number_of_probe(), integer(), integer(),
         pyusdt:probe_arg(), pyusdt:probe_arg(), pyusdt:probe_arg(), pyusdt:probe_arg()) -> pyusdt:answer().
pn(Number, A1, A2, A3, A4, A5, A6) when is_integer(A1), is_integer(A2) ->
    case pyusdt_nif:enabled(Number) of
        true -> pyusdt_nif:fire(Number, pyusdt_stack:context(Number), [A1, A2, A3, A4, A5, A6]);
        Not -> Not
    end.

-spec pn(pyusdt:number_of_probe(), integer(), integer(), integer(),
         pyusdt:probe_arg(), pyusdt:probe_arg(), pyusdt:probe_arg(), pyusdt:probe_arg()) -> pyusdt:answer().
pn(Number, A1, A2, A3, A4, A5, A6, A7) when is_integer(A1), is_integer(A2), is_integer(A3) ->
    case pyusdt_nif:enabled(Number) of
        true -> pyusdt_nif:fire(Number, pyusdt_stack:context(Number), [A1, A2, A3, A4, A5, A6, A7]);
        Not -> Not
    end.

-spec pn(pyusdt:number_of_probe(), integer(), integer(), integer(), integer(),
         pyusdt:probe_arg(), pyusdt:probe_arg(), pyusdt:probe_arg(), pyusdt:probe_arg()) -> pyusdt:answer().
pn(Number, A1, A2, A3, A4, A5, A6, A7, A8) when is_integer(A1), is_integer(A2), is_integer(A3), is_integer(A4) ->
    case pyusdt_nif:enabled(Number) of
        true -> pyusdt_nif:fire(Number, pyusdt_stack:context(Number), [A1, A2, A3, A4, A5, A6, A7, A8]);
        Not -> Not
    end.
