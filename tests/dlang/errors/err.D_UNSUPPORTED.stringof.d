BEGIN { trace(stringof(arg0)); }
