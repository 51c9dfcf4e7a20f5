int a[int, ...];
BEGIN { }
