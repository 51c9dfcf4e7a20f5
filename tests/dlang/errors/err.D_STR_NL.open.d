BEGIN { trace("one
two"); }
