extern int f(int, void);
BEGIN { }
