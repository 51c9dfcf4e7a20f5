int *p;
BEGIN { }
