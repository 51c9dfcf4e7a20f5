BEGIN { x = alloca(300); }
