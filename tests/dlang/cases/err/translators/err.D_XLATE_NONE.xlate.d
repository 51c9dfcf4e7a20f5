BEGIN { trace(xlate <struct point *> (arg0)); }
