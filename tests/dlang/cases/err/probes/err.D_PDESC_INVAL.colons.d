a:b:::e { trace(1); }
