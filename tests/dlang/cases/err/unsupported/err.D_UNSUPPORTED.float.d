double d;
BEGIN { trace(d); }
