int *p;
struct s { int a; } *q;
BEGIN { p = q; }
