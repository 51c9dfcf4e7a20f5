BEGIN { x = &1; }
