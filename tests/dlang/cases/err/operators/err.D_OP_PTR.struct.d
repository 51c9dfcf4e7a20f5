struct s { int a; } x;
BEGIN { x->a = 1; }
