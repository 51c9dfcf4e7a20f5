BEGIN { pid ? trace(1) : trace(2); }
