"""A compiled D program, as the compiler hands it to engines and sinks."""
