BEGIN { trace(copyinstr(1, 2, 3)); }
