BEGIN { trace(execname + ".log"); }
