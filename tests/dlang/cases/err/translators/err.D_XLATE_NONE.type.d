struct o { int a; };
translator struct o <char *v> { a = 1; };
BEGIN { trace(xlate <struct o> (1).a); }
