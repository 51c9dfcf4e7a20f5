struct s { int count; } x;
BEGIN { x.cuont = 1; }
