%% @private
%% @doc Samples the stacks of the processes that run or are ready to run. `pyusdt profile PID' loads this module, and sends a message
%% `sample' for each round, so that rounds do not come in step with the node's own timers.
%%
%% No process is traced, stopped or sent a message. What a process does is read without waiting for it; its stack is read by a
%% process of its own, since that of a running process comes when it is next scheduled out. Rounds in which the process still runs
%% meanwhile count for that stack.
%%
%% A round looks at the processes that have lately run (at most 300), and at 300 of the others. If it takes five rounds to look at all
%% others, one that runs counts five times. So the shares are right on average in a node of any size.
%%
%% The sampler ends with the connection of its tracer: then it also unloads the modules that came with it.
-module(pyusdt_profile).

-export([start/1, take/0, stop/0]).

-export_type([request/0, result/0]).

-type request() :: #{tracer := node(), modules := [module()], % of these, those that pyusdt attach has brought in stay
                     frames := pos_integer(), lines := boolean()}.
-type frame() :: {module(), atom(), arity(), File :: string(), Line :: non_neg_integer()}.
-type sample() :: {Name :: binary(), [frame()], Samples :: pos_integer()}.
-type result() :: #{rounds := non_neg_integer(), missed := non_neg_integer(), processes := non_neg_integer(),
                    looked := non_neg_integer(), cut := non_neg_integer(), unread := non_neg_integer(), samples := [sample()]}.
%% Of the time since the result before. looked: at processes, in all rounds; unread: samples without a stack.

-define(MOST_ACTIVE, 300).  % processes that are looked at in each round
-define(MOST_OTHERS, 300).  % of the others, in one round
-define(MOST_READERS, 64).  % stacks that are being read
-define(MOST_KEYS, 2000).   % different samples between two results
-define(MOST_NAMES, 10000). % names that are kept
-define(IDLE_ROUNDS, 200).  % after so many a process is no longer among the active ones
-define(MOST_FRAMES, 64).
-define(MOST_TEXT, 256).    % characters of a name
-define(TRIES, 20).
-define(PAUSE, 50).         % ms
-define(LEASE, 60000).      % ms without a message of the tracer

-record(state, {request :: request(),
                depth :: {Before :: pos_integer(), Set :: pos_integer()},
                round = 0 :: non_neg_integer(),
                left = [] :: [pid()],                          % of the others, in this turn
                all = 1 :: pos_integer(),                      % processes when the turn began
                turn = 1 :: pos_integer(),                     % its rounds
                active = #{} :: #{pid() => non_neg_integer()}, % the last round in which it ran
                readers = #{} :: #{pid() => {pos_integer(), pid()}}, % samples that wait for its stack; who reads it
                names = #{} :: #{pid() => binary()},
                samples = #{} :: #{{binary(), [frame()]} => pos_integer()},
                counts = #{} :: #{atom() => non_neg_integer()}}).

-spec start(request()) -> ok | {error, busy | no_connection}.
start(Request) ->
    Caller = self(),
    Reference = make_ref(),
    {Pid, Monitor} = spawn_opt(fun() -> begin_sampling(Caller, Reference, Request, ?TRIES) end, [monitor, {priority, high}]),
    receive
        {Reference, Answer} -> _ = erlang:demonitor(Monitor, [flush]), Answer;
        {'DOWN', Monitor, process, Pid, _} -> {error, no_connection}
    end.

-spec take() -> result() | {error, ended}.
take() ->
    ask(take).

%% @doc The last result; the modules are the tracer's to unload.
-spec stop() -> result() | {error, ended}.
stop() ->
    ask(stop).

ask(What) ->
    case whereis(?MODULE) of
        undefined ->
            {error, ended};
        Pid ->
            Monitor = erlang:monitor(process, Pid),
            Pid ! {What, self(), Monitor},
            receive
                {Monitor, Result} -> _ = erlang:demonitor(Monitor, [flush]), Result;
                {'DOWN', Monitor, process, Pid, _} -> {error, ended}
            end
    end.

%% One that has lost its tracer ends in a moment.
begin_sampling(Caller, Reference, Request, Tries) ->
    try register(?MODULE, self()) of
        true ->
            true = erlang:monitor_node(maps:get(tracer, Request), true),
            Caller ! {Reference, ok},
            loop(#state{request = Request, depth = set_depth(min(maps:get(frames, Request), ?MOST_FRAMES))})
    catch
        error:badarg when Tries > 0 -> timer:sleep(?PAUSE), begin_sampling(Caller, Reference, Request, Tries - 1);
        error:badarg -> Caller ! {Reference, {error, busy}}
    end.

loop(#state{request = #{tracer := Tracer, modules := Modules}} = State) ->
    receive
        sample -> loop(sample(State));
        {stack, Pid, Name, Stack} -> loop(add_stack(Pid, Name, Stack, State));
        {take, From, Reference} -> From ! {Reference, result(State)}, loop(clear(State));
        {stop, From, Reference} -> restore_depth(State), From ! {Reference, result(State)};
        {nodedown, Tracer} -> restore_depth(State), unload(Modules);
        _ -> loop(State)
    after ?LEASE ->
        restore_depth(State),
        unload(Modules)
    end.

%% ---- a round ----

sample(#state{round = Round, active = Active} = State) ->
    Pids = maps:keys(Active),
    Looked = look_all(Pids, 1, count(looked, length(Pids), count(missed, skip_rounds(0), State#state{round = Round + 1}))),
    look_at_others(forget_idle(count(rounds, 1, Looked))).

%% Rounds for which there was no time: they would be one after another.
skip_rounds(Skipped) ->
    receive sample -> skip_rounds(Skipped + 1)
    after 0 -> Skipped
    end.

look_all([], _Weight, State) -> State;
look_all([Pid | Others], Weight, State) -> look_all(Others, Weight, look(process_info(Pid, status), Pid, Weight, State)).

%% One that is collecting garbage runs, too.
look(undefined, Pid, _, #state{active = Active, names = Names} = State) ->
    State#state{active = maps:remove(Pid, Active), names = maps:remove(Pid, Names)};
look({_, Status}, Pid, Weight, State) when Status =:= running; Status =:= runnable; Status =:= garbage_collecting ->
    see(Pid, Weight, remember(Pid, State));
look(_, _, _, State) ->
    State.

remember(Pid, #state{active = Active, round = Round} = State) when map_size(Active) < ?MOST_ACTIVE; is_map_key(Pid, Active) ->
    State#state{active = Active#{Pid => Round}};
remember(_, State) ->
    State.

forget_idle(#state{round = Round, active = Active} = State) when Round rem ?IDLE_ROUNDS =:= 0 ->
    State#state{active = maps:filter(fun(_, Last) -> Last > Round - ?IDLE_ROUNDS end, Active)};
forget_idle(State) ->
    State.

look_at_others(#state{left = [], readers = Readers} = State) ->
    Pids = processes() -- [self() | [Reader || {_, Reader} <- maps:values(Readers)]],
    All = max(1, length(Pids)),
    look_at_next(State#state{left = Pids, all = All, turn = (All + ?MOST_OTHERS - 1) div ?MOST_OTHERS});
look_at_others(State) ->
    look_at_next(State).

%% The active ones among them were looked at before.
look_at_next(#state{left = Left, active = Active, turn = Turn} = State) ->
    {Now, Later} = split(?MOST_OTHERS, Left, []),
    look_all([Pid || Pid <- Now, not is_map_key(Pid, Active)], Turn, count(looked, length(Now), State#state{left = Later})).

split(0, Left, Taken) -> {Taken, Left};
split(_, [], Taken) -> {Taken, []};
split(N, [Pid | Left], Taken) -> split(N - 1, Left, [Pid | Taken]).

%% ---- stacks ----

see(Pid, Weight, #state{readers = Readers, names = Names} = State) ->
    case Readers of
        #{Pid := {Before, Reader}} -> State#state{readers = Readers#{Pid := {Before + Weight, Reader}}};
        _ when map_size(Readers) >= ?MOST_READERS -> count(unread, Weight, State);
        _ -> State#state{readers = Readers#{Pid => {Weight, read_stack(Pid, maps:get(Pid, Names, none))}}}
    end.

read_stack(Pid, Known) ->
    Sampler = self(),
    spawn_opt(fun() ->
                      Stack = process_info(Pid, current_stacktrace),
                      Sampler ! {stack, Pid, case Known of none -> make_name(Pid); _ -> Known end, Stack}
              end, [{priority, high}]).

make_name(Pid) ->
    unicode:characters_to_binary(string:slice(pyusdt_process_name:name(Pid), 0, ?MOST_TEXT)).

add_stack(Pid, Name, Read, #state{readers = Readers} = State) ->
    {{Weight, _}, Others} = maps:take(Pid, Readers),
    add(Pid, Name, Read, Weight, State#state{readers = Others}).

add(_Pid, _Name, undefined, Weight, State) ->
    count(unread, Weight, State);
add(Pid, Name, {_, Stack}, Weight, #state{request = #{lines := Lines}, depth = {_, Depth}} = State) ->
    Frames = [shorten(Frame, Lines) || Frame <- Stack],
    Cut = case length(Frames) >= Depth of true -> Weight; false -> 0 end,
    keep({Name, Frames}, Weight, keep_name(Pid, Name, count(cut, Cut, State))).

shorten({Module, Function, Arity, Location}, Lines) ->
    {Module, Function, Arity, proplists:get_value(file, Location, ""), case Lines of true -> proplists:get_value(line, Location, 0); false -> 0 end}.

keep(Key, Weight, #state{samples = Samples} = State) when map_size(Samples) < ?MOST_KEYS; is_map_key(Key, Samples) ->
    State#state{samples = maps:update_with(Key, fun(Before) -> Before + Weight end, Weight, Samples)};
keep(_, Weight, State) ->
    count(unread, Weight, State).

%% An anonymous process has no name that it will keep for long.
keep_name(Pid, Name, #state{names = Names} = State) when map_size(Names) < ?MOST_NAMES -> State#state{names = Names#{Pid => Name}};
keep_name(_, _, State) -> State#state{names = #{}}.

count(_, 0, State) -> State;
count(What, N, #state{counts = Counts} = State) -> State#state{counts = maps:update_with(What, fun(Before) -> Before + N end, N, Counts)}.

%% ---- results ----

result(#state{counts = Counts, samples = Samples, all = All}) ->
    maps:merge(#{rounds => 0, missed => 0, looked => 0, cut => 0, unread => 0},
               Counts#{processes => All, samples => [{Name, Stack, Weight} || {{Name, Stack}, Weight} <- maps:to_list(Samples)]}).

clear(State) ->
    State#state{samples = #{}, counts = #{}}.

%% ---- the node's limit of frames, and these modules ----

set_depth(Wanted) ->
    Before = erlang:system_flag(backtrace_depth, Wanted),
    {Before, Wanted}.

%% Another one that was set meanwhile stays.
restore_depth(#state{depth = {Before, Set}}) ->
    case erlang:system_flag(backtrace_depth, Before) of
        Set -> ok;
        Other -> _ = erlang:system_flag(backtrace_depth, Other), ok
    end.

%% This process runs the code: another one removes it, once this one has ended.
unload(Modules) ->
    Attached = case application:get_env(pyusdt, attached) of {ok, #{modules := Of_attach}} -> Of_attach; _ -> [] end,
    lists:foreach(fun(Module) -> _ = code:delete(Module), spawn(code, purge, [Module]) end, Modules -- Attached).
