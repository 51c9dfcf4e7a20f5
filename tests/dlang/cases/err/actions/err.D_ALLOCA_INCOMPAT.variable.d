BEGIN { p = (char *)alloca(8); }
BEGIN { p = (char *)arg1; }
