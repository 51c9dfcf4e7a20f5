%% @doc Bring the application's modules into a node that runs, and out of it again. `pyusdt attach PID' loads this module first,
%% and calls it.
%%
%% A node that has the application itself, loaded or in its code path, keeps it: then only the emulator's probes are enabled.
%% In embedded mode, too, all modules are loaded here. A module that the node's emulator cannot load, since a much older compiler
%% has made it, is compiled again from the abstract code in it.
-module(pyusdt_attach).

-export([enter/1, leave/1]).

-export_type([request/0, answer/0]).

-type request() :: #{modules := [{module(), binary()}],
                     priv := binary(),    % the folder of the library, <<>>: the node cannot read it
                     library := binary(), % the library itself, if the node cannot read it
                     options := binary(), % of pyusdt_vm:enable/1, as text
                     temporary := boolean()}. % it leaves with the last tracer
-type answer() :: brought | enabled | attached | present | {refused, Text :: binary()}.
%% Everything was loaded; the application was there, and its probes are enabled now; an attach had enabled them; the node itself had.

-define(APPLICATION, pyusdt).
-define(KEY, attached).
-define(COPY, copy).
-define(PRIV, {pyusdt, priv}).
-define(FOLDERS, ["/tmp", "/var/tmp", "/dev/shm"]).
-define(TRIES, 10).
-define(PAUSE, 100). % ms

%% @doc Once it returns, the probes are offered, or nothing was changed.
-spec enter(request()) -> answer().
enter(#{options := Text} = Request) ->
    case read_options(Text) of
        {ok, Options} -> enter(Request, Options, application:get_env(?APPLICATION, ?KEY));
        {error, Reason} -> {refused, Reason}
    end.

enter(#{temporary := Temporary} = Request, Options, undefined) ->
    case code:which(pyusdt_nif) of
        non_existing -> bring(Request, Options);
        _ -> start_probes(enabled, Options, Temporary, own_modules())
    end;
enter(#{temporary := Temporary}, Options, {ok, #{modules := Modules, temporary := Before} = Attached}) ->
    case Modules =:= [] orelse lists:member(pyusdt_vm, Modules) of
        true -> enable_again(Temporary andalso Before, Options, Attached);
        false -> refuse_to_unload(Modules)
    end.

enable_again(Temporary, Options, Attached) ->
    ok = application:set_env(?APPLICATION, ?KEY, Attached#{temporary := Temporary}),
    case answer_start(pyusdt_vm:enable(Options), enabled) of
        present -> attached;
        Answer -> Answer
    end.

%% In embedded mode nothing is loaded by being called.
own_modules() ->
    Folder = filename:dirname(code:which(pyusdt_nif)),
    _ = [code:load_file(Module) || File <- filelib:wildcard(filename:join(Folder, "*.beam")),
                                   Module <- [list_to_atom(filename:basename(File, ".beam"))],
                                   Module =/= dyntrace, code:is_loaded(Module) =:= false],
    [].

bring(#{temporary := Temporary} = Request, Options) ->
    case load_all(Request) of
        ok ->
            Modules = [Module || {Module, _} <- maps:get(modules, Request)],
            start_probes(brought, Options, Temporary, Modules);
        {error, Reason} ->
            _ = unload([Module || {Module, _} <- maps:get(modules, Request), code:is_loaded(Module) =/= false]),
            _ = persistent_term:erase(?PRIV),
            {refused, format_text("~ts", [Reason])}
    end.

start_probes(How, Options, Temporary, Modules) ->
    ok = application:set_env(?APPLICATION, ?KEY, #{modules => Modules, temporary => Temporary}),
    case answer_start(pyusdt_vm:enable(Options), How) of
        {refused, _} = Refused -> _ = leave(false), Refused;
        present when How =:= enabled -> ok = application:unset_env(?APPLICATION, ?KEY), present;
        Answer -> Answer
    end.

answer_start(ok, How) -> How;
answer_start({error, {already_started, _}}, _How) -> present;
answer_start({error, {badarg, Wrong}}, _How) -> {refused, format_text("these are no options of pyusdt_vm:enable/1: ~0tp", [Wrong])};
answer_start({error, Reason}, _How) -> {refused, format_text("the probes cannot be enabled: ~0tp", [Reason])}.

%% @doc Nothing of what was brought in stays. If_unused: only what was to leave with the last tracer, if no tracer wants anything.
-spec leave(If_unused :: boolean()) -> ok | stays | {refused, Text :: binary()}.
leave(If_unused) ->
    case application:get_env(?APPLICATION, ?KEY) of
        undefined -> {refused, <<"nothing was brought into it">>};
        {ok, #{temporary := false}} when If_unused -> stays;
        {ok, #{modules := Modules}} -> leave(If_unused andalso is_used(?TRIES), Modules)
    end.

leave(true, _Modules) ->
    stays;
leave(false, Modules) ->
    _ = [Module:disable() || Module <- [pyusdt_vm, pyusdt_instrument], lists:member(Module, [pyusdt_vm || Modules =:= []] ++ Modules)],
    case unload(Modules) of
        [] ->
            ok = application:unset_env(?APPLICATION, ?KEY),
            _ = [persistent_term:erase(Key) || Key <- [?PRIV, {?APPLICATION, follow_tags}]],
            ok;
        Left ->
            ok = application:set_env(?APPLICATION, ?KEY, #{modules => Left, temporary => false}),
            refuse_to_unload(Left)
    end.

refuse_to_unload(Modules) ->
    {refused, format_text("processes run code of ~0tp, which was brought in: end them, and detach again", [Modules])}.

%% The tracer that has just ended is known to the node after a moment.
is_used(0) -> true;
is_used(Tries) ->
    is_wanted() andalso begin timer:sleep(?PAUSE), is_used(Tries - 1) end.

is_wanted() ->
    _ = pyusdt_nif:vm_check_sessions(),
    pyusdt_nif:vm_wanted() =/= [].

%% ---- code ----

%% The modules that processes still run; no process is killed.
unload(Modules) ->
    unload(Modules, ?TRIES).

unload(Modules, Tries) ->
    case [Module || Module <- Modules, not unload_one(Module)] of
        Left when Left =:= []; Tries =:= 0 -> Left;
        Left -> timer:sleep(?PAUSE), unload(Left, Tries - 1)
    end.

unload_one(Module) ->
    code:soft_purge(Module) andalso begin _ = code:delete(Module), code:soft_purge(Module) end.

load_all(#{modules := Modules, priv := <<>>, library := Library}) ->
    Digest = erlang:md5(Library),
    Before = [Folder || {ok, {Same, Folder}} <- [application:get_env(?APPLICATION, ?COPY)], Same =:= Digest],
    load_with_copy(Modules, Library, Before ++ [new_name(Parent) || Parent <- ?FOLDERS], "there is no folder for it");
load_all(#{modules := Modules, priv := Priv}) ->
    load_with(Modules, unicode:characters_to_list(Priv)).

load_with(Modules, Priv) ->
    ok = persistent_term:put(?PRIV, Priv),
    case load_modules(Modules) of
        ok -> check_library(Priv);
        Error -> Error
    end.

check_library(Priv) ->
    case pyusdt_nif:available() of
        true -> ok;
        false -> {error, io_lib:format("it cannot load ~ts/pyusdt_nif.so; its log has the reason", [Priv])}
    end.

load_modules([]) ->
    ok;
load_modules([{Module, Binary} | Others]) ->
    case load_one(Module, Binary) of
        ok -> load_modules(Others);
        {error, Reason} -> {error, io_lib:format("it cannot load the module ~ts: ~0tp", [Module, Reason])}
    end.

load_one(Module, Binary) ->
    case code:load_binary(Module, atom_to_list(Module) ++ ".beam", Binary) of
        {module, Module} -> ok;
        {error, badfile} -> compile_again(Module, Binary);
        {error, Reason} -> {error, Reason}
    end.

compile_again(Module, Binary) ->
    try
        {ok, {Module, [{abstract_code, {_, Forms}}]}} = beam_lib:chunks(Binary, [abstract_code]),
        Compiler = list_to_existing_atom("compile"), % of an application that a node may not have
        {ok, Module, Again} = Compiler:forms(Forms, [binary]),
        {module, Module} = code:load_binary(Module, atom_to_list(Module) ++ ".beam", Again),
        ok
    catch
        error:Reason -> {error, {badfile, Reason}}
    end.

%% ---- a copy of the library, that is removed as soon as it is loaded ----

%% The same copy is made under the same name again: then glibc takes the library that is still mapped.
load_with_copy(_Modules, _Library, [], Reason) ->
    {error, Reason};
load_with_copy(Modules, Library, [Folder | Others], _Reason) ->
    case make_folder(Folder) of
        ok ->
            Loaded = load_from(Folder, Modules, Library),
            _ = file:delete(library_in(Folder)),
            _ = file:del_dir(Folder),
            try_next(Loaded, Modules, Library, Others);
        {error, Why} ->
            load_with_copy(Modules, Library, Others, io_lib:format("~ts: ~ts", [Folder, file:format_error(Why)]))
    end.

load_from(Folder, Modules, Library) ->
    case file:write_file(library_in(Folder), Library, [exclusive, raw]) of
        ok ->
            ok = application:set_env(?APPLICATION, ?COPY, {erlang:md5(Library), Folder}),
            load_with(Modules, Folder);
        {error, Why} ->
            {error, io_lib:format("~ts: ~ts", [Folder, file:format_error(Why)])}
    end.

library_in(Folder) ->
    filename:join(Folder, "pyusdt_nif.so").

try_next(ok, _Modules, _Library, _Others) -> ok;
try_next({error, Reason}, _Modules, _Library, []) -> {error, Reason};
try_next({error, Reason}, Modules, Library, Others) ->
    _ = unload([Module || {Module, _} <- Modules, code:is_loaded(Module) =/= false]),
    load_with_copy(Modules, Library, Others, Reason).

%% Only this node's user can write there; one that another user has put something into before that is unfit.
make_folder(Folder) ->
    case file:make_dir(Folder) of
        ok ->
            _ = file:change_mode(Folder, 8#700),
            case file:list_dir_all(Folder) of
                {ok, []} -> ok;
                _ -> {error, eexist}
            end;
        {error, Why} ->
            {error, Why}
    end.

new_name(Parent) ->
    filename:join(Parent, ".pyusdt-" ++ integer_to_list(rand:uniform(1 bsl 64), 36)).

%% ---- options ----

read_options(<<>>) ->
    {ok, #{}};
read_options(Text) ->
    try
        {ok, Tokens, _} = erl_scan:string(unicode:characters_to_list(Text) ++ "."),
        {ok, Options} = erl_parse:parse_term(Tokens),
        {ok, Options}
    catch
        error:_ -> {error, format_text("~ts: no Erlang term, such as #{rate => 1000000}", [Text])}
    end.

format_text(Format, Arguments) ->
    unicode:characters_to_binary(io_lib:format(Format, Arguments)).
