"""Erlang's distribution, as far as a tracer needs it: terms as bytes, and calls in a node."""
