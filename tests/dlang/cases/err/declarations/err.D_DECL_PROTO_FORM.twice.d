extern int f(int a, int a);
BEGIN { }
