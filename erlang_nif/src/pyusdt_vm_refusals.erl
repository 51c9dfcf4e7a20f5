%% @doc What the node refuses of the emulator's own probes: for the log, for `pyusdt_vm:info/0', and
%% as remarks for the tracers that want these probes.
%%
%% Each subject has one remark at a time, which stays until another one takes its place or no
%% tracer wants a probe any more. A process keeps each text that was a remark as long as it lives,
%% so their number is bounded.
-module(pyusdt_vm_refusals).

-export([new/0, report/3, clear/1, messages/1]).

-export_type([state/0, refusal/0, subject/0]).

-type subject() :: limit | monitor | modules | absent | later | processes | functions | loops.
-type refusal() :: {subject(), Probes :: [atom()], Text :: string()}.
%% Probes: those that it is about; none: all.
-opaque state() :: #{remarks := #{subject() => {[atom()], string()}}, texts := #{string() => []}, messages := [string()]}.

-define(MAX_TEXTS, 1000).
-define(MAX_MESSAGES, 100).
-define(MAX_NAMES, 127).  % bytes of the names of a remark's probes, PYUSDT_PLACE_FUNCTION
-define(MAX_BYTES, 480).  % of a text, below PYUSDT_PLACE_FILE

-spec new() -> state().
new() ->
    #{remarks => #{}, texts => #{}, messages => []}.

%% @doc Whole: subjects of which these are all refusals, so that others of them are over.
-spec report([refusal()], Whole :: [subject()], state()) -> state().
report(Refusals, Whole, State) ->
    Subjects = lists:usort([Subject || {Subject, _, _} <- Refusals]),
    Ended = lists:foldl(fun set_none/2, State, Whole -- Subjects),
    lists:foldl(fun(Subject, Before) -> report_subject(Subject, [R || {Of, _, _} = R <- Refusals, Of =:= Subject], Before) end,
                Ended, Subjects).

%% @doc No tracer wants a probe any more.
-spec clear(state()) -> state().
clear(#{remarks := Remarks} = State) ->
    lists:foldl(fun set_none/2, State, maps:keys(Remarks)).

%% @doc The latest ones, the oldest first.
-spec messages(state()) -> [string()].
messages(#{messages := Messages}) ->
    lists:reverse(Messages).

set_none(Subject, #{remarks := Remarks} = State) when is_map_key(Subject, Remarks) ->
    _ = pyusdt_nif:vm_remark(number(Subject), <<>>, none, kind(Subject)),
    State#{remarks := maps:remove(Subject, Remarks)};
set_none(_Subject, State) ->
    State.

report_subject(Subject, Refusals, #{messages := Messages} = State) ->
    Texts = [Text || {_, _, Text} <- Refusals],
    New = case Subject of
              limit -> Texts; % each time
              _ -> Texts -- Messages
          end,
    [pyusdt_server:log_warning("pyusdt: the emulator's probes: ~ts~ts", [subject(Subject), Text]) || Text <- New],
    Logged = State#{messages := lists:sublist(lists:reverse(New) ++ Messages, ?MAX_MESSAGES)},
    set_remark(Subject, lists:usort(lists:append([Probes || {_, Probes, _} <- Refusals])), lists:join("; ", Texts), Logged).

set_remark(Subject, Probes, Parts, #{remarks := Remarks, texts := Texts} = State) ->
    Whole = lists:flatten(Parts),
    Text = case is_map_key(Whole, Texts) orelse map_size(Texts) < ?MAX_TEXTS of
               true -> Whole;
               false -> "it does not fire all that is wanted: its log and pyusdt_vm:info() say why"
           end,
    case Remarks of
        #{Subject := {Probes, Text}} ->
            State;
        _ ->
            _ = pyusdt_nif:vm_remark(number(Subject), names(Probes), truncate(Text), kind(Subject)),
            State#{remarks := Remarks#{Subject => {Probes, Text}}, texts := Texts#{Text => []}}
    end.

names(Probes) ->
    Names = unicode:characters_to_binary(lists:join(" ", [atom_to_list(Probe) || Probe <- Probes])),
    case byte_size(Names) =< ?MAX_NAMES of
        true -> Names;
        false -> <<>>
    end.

truncate(Text) ->
    case unicode:characters_to_binary(Text) of
        <<Begin:?MAX_BYTES/binary, _, _/binary>> -> <<(whole_characters(Begin))/binary, "...">>;
        Whole -> Whole
    end.

whole_characters(Bytes) ->
    case unicode:characters_to_binary(Bytes) of
        {incomplete, Begin, _} -> Begin;
        Whole -> Whole
    end.

%% In the tracer's message the text follows the process.
subject(absent) -> "this node ";
subject(later) -> "this node ";
subject(_) -> "".

kind(absent) -> absent;
kind(later) -> later;
kind(_) -> refused.

number(limit) -> 0;
number(monitor) -> 1;
number(modules) -> 2;
number(absent) -> 3;
number(later) -> 3; % instead of the former
number(processes) -> 4;
number(functions) -> 5;
number(loops) -> 6.
