BEGIN { trace(ddi_pathname(alloca(8), 1)); }
