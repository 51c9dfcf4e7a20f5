int (*f)(int, char *);
BEGIN { }
