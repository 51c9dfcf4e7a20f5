struct s { int a; } *p;
BEGIN { p.a = 1; }
