struct s { int a : 3; } x;
BEGIN { p = &x.a; }
