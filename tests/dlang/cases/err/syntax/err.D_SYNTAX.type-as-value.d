BEGIN { trace(uint64_t); }
