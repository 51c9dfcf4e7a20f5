%% @doc The calls of one function: arguments, result or exception, time, caller. See {@link erltrace:watch/2}.
%%
%% The tracer is pyusdt's library, in this node. It makes at most `count' messages and looks at `calls' calls; behind that it
%% discards everything, before the patterns are gone. From OTP 27 on the pattern is in a trace session; before that it is a meta
%% pattern, and no flags of processes are set.
-module(erltrace_watch).

-export([watch/2]).
-export([decode/1]).

-export_type([options/0, call/0, ended/0]).

-type options() :: #{count := pos_integer(),           % calls that are returned at most; has to be given
                     where => string(),                % a guard over the parameters P1, P2 ...: "P1 > 100, is_map(P2)"
                     slower => non_neg_integer(),      % only calls that take at least so many milliseconds: 0
                     time => pos_integer(),            % milliseconds until it ends: 60000
                     calls => pos_integer(),           % calls that are looked at, at most: 100000
                     print => boolean()}.              % each call is printed as it comes: false
-type call() :: #{pid := pid(), params := [term()], us := non_neg_integer(), caller := mfa() | undefined,
                  retval => term(), exception => {error | exit | throw, term()}}.
-type ended() :: count | time | calls.

-define(DEFAULTS, #{where => "true", slower => 0, time => 60000, calls => 100000, print => false}).
-define(TRACER, pyusdt_nif).
-define(STATE, watch).

-spec watch(string() | mfa(), options()) -> {ok, ended(), [call()]} | {error, term()}.
watch(Function, Given) ->
    case {read_function(Function), check_options(Given)} of
        {{ok, MFA}, {ok, Options}} -> watch_alone(MFA, Options);
        {{error, Reason}, _} -> {error, Reason};
        {_, {error, Reason}} -> {error, Reason}
    end.

%% One in a node at a time, since the library has one receiver. It ends with the caller.
watch_alone({_, _, Arity} = MFA, #{where := Where} = Options) ->
    case is_there(MFA) andalso make_match(Arity, Where) of
        false ->
            {error, no_such_function};
        {ok, Match} ->
            Caller = self(),
            Reference = make_ref(),
            {Pid, Monitor} = spawn_monitor(fun() -> Caller ! {Reference, run(Caller, MFA, Match, Options)} end),
            receive
                {'DOWN', Monitor, process, Pid, Reason} -> % behind the result
                    receive {Reference, Result} -> Result after 0 -> {error, Reason} end
            end;
        Error ->
            Error
    end.

is_there({Module, Function, Arity}) ->
    code:ensure_loaded(Module) =:= {module, Module} andalso lists:member({Function, Arity}, Module:module_info(functions)).

run(Caller, MFA, Match, #{count := Count, slower := Slower, time := Time, calls := Calls} = Options) ->
    try register(?MODULE, self()) of
        true ->
            _ = erlang:monitor(process, Caller),
            Timer = erlang:send_after(Time, self(), time),
            case set_pattern(MFA, Match, {Count, Calls, Slower * 1000}) of
                {ok, Session} ->
                    Ended = try collect(Options#{mfa => MFA}, Count, [])
                            after clear_pattern(Session, MFA), erlang:cancel_timer(Timer)
                            end,
                    Ended;
                Error ->
                    Error
            end
    catch
        error:badarg -> {error, already_watching}
    end.

-define(POLL, 200). % ms: calls that are looked at make no message

collect(_Options, 0, Calls) ->
    {ok, count, lists:reverse(Calls)};
collect(#{print := Print, mfa := MFA, calls := Most} = Options, Left, Calls) ->
    receive
        {?STATE, Pid, Arguments, Class, Value, Nanoseconds, By} ->
            Call = make_call(Pid, Arguments, Class, decode(Value), Nanoseconds, By),
            _ = Print andalso print(MFA, Call),
            collect(Options, Left - 1, [Call | Calls]);
        time ->
            {ok, time, lists:reverse(Calls)};
        {'DOWN', _, process, _, _} ->
            {ok, time, lists:reverse(Calls)}
    after ?POLL ->
        case pyusdt_nif:vm_watch_seen() >= Most of
            true -> {ok, calls, lists:reverse(Calls)};
            false -> collect(Options, Left, Calls)
        end
    end.

make_call(Pid, Arguments, true, Value, Nanoseconds, By) ->
    (common(Pid, Arguments, Nanoseconds, By))#{retval => Value};
make_call(Pid, Arguments, Class, Value, Nanoseconds, By) ->
    (common(Pid, Arguments, Nanoseconds, By))#{exception => {Class, Value}}.

common(Pid, Arguments, Nanoseconds, By) ->
    #{pid => Pid, params => decode(Arguments), us => Nanoseconds div 1000, caller => By}.

print({Module, Function, _}, #{pid := Pid, params := Parameters, us := Us, caller := By} = Call) ->
    Text = case Call of
               #{retval := Value} -> io_lib:format("-> ~0tp", [Value]);
               #{exception := {Class, Reason}} -> io_lib:format("** ~w ~0tp", [Class, Reason])
           end,
    io:format("~b us  ~p  ~tw:~tw(~ts) ~ts  from ~0tp~n", [Us, Pid, Module, Function, format_parameters(Parameters), Text, By]).

format_parameters(Parameters) when is_list(Parameters) -> lists:join(", ", [io_lib:format("~0tp", [Each]) || Each <- Parameters]);
format_parameters(_) -> "...".

%% ---- patterns ----

set_pattern(MFA, Match, {Count, Calls, Slower}) ->
    ok = pyusdt_nif:vm_watch_begin(self(), Count, Calls, Slower),
    case pyusdt_nif:available() andalso set(MFA, Match) of
        {ok, Session} -> {ok, Session};
        false -> _ = pyusdt_nif:vm_watch_end(), {error, library_not_loaded};
        Error -> _ = pyusdt_nif:vm_watch_end(), Error
    end.

set(MFA, Match) ->
    case has_sessions() of
        true ->
            Session = trace(session_create, [?MODULE, {?TRACER, ?STATE}, []]),
            case trace(function, [Session, MFA, Match, [meta]]) of
                0 -> _ = trace(session_destroy, [Session]), {error, no_such_function};
                _ -> {ok, Session}
            end;
        false ->
            set_meta(MFA, Match, erlang:trace_info(MFA, meta))
    end.

%% What a watch that was killed has left is replaced.
set_meta(MFA, Match, {meta, Before}) when Before =:= false; Before =:= {?TRACER, ?STATE} ->
    1 = erlang:trace_pattern(MFA, Match, [{meta, ?TRACER, ?STATE}]),
    {ok, none};
set_meta(_MFA, _Match, undefined) ->
    {error, no_such_function};
set_meta(_MFA, _Match, _) ->
    {error, traced_by_another_tool}.

clear_pattern(none, MFA) ->
    _ = pyusdt_nif:vm_watch_end(),
    _ = erlang:trace_pattern(MFA, false, [meta]),
    ok;
clear_pattern(Session, _MFA) ->
    _ = pyusdt_nif:vm_watch_end(),
    _ = trace(session_destroy, [Session]),
    ok.

has_sessions() ->
    list_to_integer(erlang:system_info(otp_release)) >= 27.

trace(Function, Arguments) ->
    apply(trace, Function, Arguments).

%% The guard is compiled as that of dbg:fun2ms/1, so a call that it rejects makes no event.
make_match(Arity, Where) ->
    Names = lists:join(", ", ["P" ++ integer_to_list(N) || N <- lists:seq(1, Arity)]),
    Text = lists:flatten(io_lib:format("fun([~s]) when ~ts -> exception_trace(), message(caller()) end.", [Names, Where])),
    try
        {ok, Tokens, _} = erl_scan:string(Text),
        {ok, [{'fun', _, {clauses, Clauses}}]} = erl_parse:parse_exprs(Tokens),
        [{_, _, _} | _] = Match = ms_transform:transform_from_shell(dbg, Clauses, []),
        {ok, Match}
    catch
        _:_ -> {error, {no_guard, Where}}
    end.

%% ---- what is given ----

%% "shop:price/2", or as Elixir writes it: "Shop.Cart.add!/1".
read_function({Module, Function, Arity} = MFA) when is_atom(Module), is_atom(Function), is_integer(Arity) ->
    {ok, MFA};
read_function(Text) ->
    case re:run(Text, "^(.+)[:.]([^:./]+)/([0-9]+)$", [{capture, all_but_first, list}, unicode]) of
        {match, [Module, Function, Arity]} -> name_function(Module, Function, list_to_integer(Arity));
        _ -> {error, {no_function, Text}}
    end.

%% No atom is made: what is not there has none.
name_function(Module, Function, Arity) ->
    Names = [Prefix ++ Module || Prefix <- ["", "Elixir."]],
    case [Atom || Name <- Names, Atom <- existing(Name), code:which(Atom) =/= non_existing] of
        [Found | _] ->
            _ = code:ensure_loaded(Found),
            case existing(Function) of
                [Name] -> {ok, {Found, Name, Arity}};
                [] -> {error, no_such_function}
            end;
        [] ->
            {error, no_such_module}
    end.

existing(Name) ->
    try [list_to_existing_atom(Name)]
    catch error:_ -> []
    end.

check_options(#{count := _} = Given) ->
    Options = maps:merge(?DEFAULTS, Given),
    case [Name || {Name, Value} <- maps:to_list(Options), not is_option(Name, Value)] of
        [] -> {ok, Options};
        Wrong -> {error, {badarg, Wrong}}
    end;
check_options(Given) when is_map(Given) ->
    {error, {missing, count}};
check_options(Given) ->
    {error, {badarg, Given}}.

is_option(count, N) -> is_positive(N) andalso N =< 10000;
is_option(calls, N) -> is_positive(N);
is_option(time, N) -> is_positive(N);
is_option(slower, N) -> N =:= 0 orelse is_positive(N);
is_option(where, Text) -> io_lib:char_list(Text);
is_option(print, Print) -> is_boolean(Print);
is_option(_, _) -> false.

is_positive(N) -> is_integer(N) andalso N > 0 andalso N < 1 bsl 31.

%% ---- terms ----

%% @private
%% @doc The term that the library has encoded (c/shared/term_format.h); '...' for what it has left out.
-spec decode(binary() | undefined) -> term().
decode(<<131, Bytes/binary>>) ->
    {Term, _} = term(Bytes),
    Term;
decode(_) ->
    '...'.

term(<<1, Size, Text:Size/binary, Rest/binary>>) -> {Text, Rest};
term(<<70, Float:64/float, Rest/binary>>) -> {Float, Rest};
term(<<97, Integer, Rest/binary>>) -> {Integer, Rest};
term(<<98, Integer:32/signed, Rest/binary>>) -> {Integer, Rest};
term(<<104, Size, Rest/binary>>) -> tuple(Size, Rest);
term(<<105, Size:32, Rest/binary>>) -> tuple(Size, Rest);
term(<<106, Rest/binary>>) -> {[], Rest};
term(<<107, Size:16, Text:Size/binary, Rest/binary>>) -> {binary_to_list(Text), Rest};
term(<<107, _:16, Text/binary>>) -> {binary_to_list(Text) ++ '...', <<>>};
term(<<108, Size:32, Rest/binary>>) -> list(Size, Rest);
term(<<109, Size:32, Data:Size/binary, Rest/binary>>) -> {Data, Rest};
term(<<109, _:32, Data/binary>>) -> {<<Data/binary, "...">>, <<>>};
term(<<116, Size:32, Rest/binary>>) -> map(Size, Rest, #{});
term(<<Tag, _/binary>> = Bytes) when Tag =/= 0 -> whole(Bytes);
term(<<0, Rest/binary>>) -> {'...', Rest};
term(<<>>) -> {'...', <<>>}.

%% Atoms, pids and others are never truncated.
whole(Bytes) ->
    try binary_to_term(<<131, Bytes/binary>>, [used]) of
        {Term, Used} -> {Term, binary:part(Bytes, Used - 1, byte_size(Bytes) - Used + 1)}
    catch
        error:badarg -> {'...', <<>>}
    end.

terms(0, Bytes, Terms) -> {lists:reverse(Terms), Bytes};
terms(_, <<>>, Terms) -> {lists:reverse(['...' | Terms]), <<>>};
terms(Left, Bytes, Terms) ->
    {Term, Rest} = term(Bytes),
    terms(Left - 1, Rest, [Term | Terms]).

tuple(Size, Bytes) ->
    {Terms, Rest} = terms(Size, Bytes, []),
    {list_to_tuple(Terms), Rest}.

list(Size, Bytes) ->
    {Terms, Rest} = terms(Size, Bytes, []),
    {Tail, Behind} = case Rest of <<>> -> {[], <<>>}; _ -> term(Rest) end,
    {Terms ++ Tail, Behind}.

map(0, Bytes, Map) -> {Map, Bytes};
map(_, <<>>, Map) -> {Map#{'...' => '...'}, <<>>};
map(Left, Bytes, Map) ->
    {Key, Rest} = term(Bytes),
    {Value, Behind} = term(Rest),
    map(Left - 1, Behind, Map#{Key => Value}).
