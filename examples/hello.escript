#!/usr/bin/env escript
%%! -pa erlang_nif/ebin
%% The smallest Erlang program with probes: three events, with a tag.
main(_) ->
    dyntrace:put_tag("fruit"),
    [dyntrace:p(N, length(Name), Name) || {N, Name} <- [{1, "apple"}, {2, "pear"}, {3, "quince"}]].
