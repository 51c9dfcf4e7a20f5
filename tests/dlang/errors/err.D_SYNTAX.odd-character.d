BEGIN { x = \1; }
