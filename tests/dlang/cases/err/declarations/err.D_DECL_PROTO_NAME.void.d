extern int f(void v);
BEGIN { }
