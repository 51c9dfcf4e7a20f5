%% Made by docs/make_names.py of src/pyusdt/framework_probes.py: the probes of each provider.
-define(PROBES, #{
    http => [{'request-start', [{method, string}, {route, string}, {path, string}, {traceparent, string}]},
             {'request-done', [{route, string}, {status, int}, {bytes, int}, {duration, int}, {method, string}, {path, string}, {traceparent, string}]}],
    db => [{'query-start', [{statement, string}]},
           {'query-done', [{statement, string}, {rows, int}, {duration, int}, {error, string}]}],
    task => [{'start', [{name, string}, {id, string}, {arguments, string}]},
             {'done', [{name, string}, {state, string}, {duration, int}, {id, string}]}],
    log => [{'record', [{level, int}, {logger, string}, {message, string}]}],
    telemetry => [{'event', [{name, string}, {measurements, term}, {metadata, term}]}]
}).
