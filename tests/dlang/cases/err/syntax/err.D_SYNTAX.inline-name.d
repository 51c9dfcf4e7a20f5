inline int q = 5;
BEGIN { trace(5 q 3); }
