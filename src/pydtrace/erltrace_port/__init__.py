"""Erlang's side door: the consumer as a port program of erltrace (erlang_nif/src/erltrace.erl)."""
