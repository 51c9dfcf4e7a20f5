struct o { int a; };
translator struct o <int v> { a = v; };
BEGIN { trace(1); xlate <struct o *> (0); }
