int x = 3;
BEGIN { trace(x); }
