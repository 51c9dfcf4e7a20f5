BEGIN { trace(2 * "x"); }
