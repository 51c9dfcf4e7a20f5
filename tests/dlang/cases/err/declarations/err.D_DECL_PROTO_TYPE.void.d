int a[int, void];
BEGIN { }
