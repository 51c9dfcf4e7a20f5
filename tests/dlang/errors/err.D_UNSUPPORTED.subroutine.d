BEGIN { trace(strlen(execname)); }
