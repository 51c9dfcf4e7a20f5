struct s { int a[string]; };
BEGIN { }
