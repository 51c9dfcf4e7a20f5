int a[5];
BEGIN { }
