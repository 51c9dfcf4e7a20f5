int (*f)(int);
BEGIN { *f; }
