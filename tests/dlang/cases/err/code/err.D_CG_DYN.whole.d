struct o { int a; };
translator struct o <int v> { a = v; };
BEGIN { *xlate <struct o *> (0); exit(0); }
