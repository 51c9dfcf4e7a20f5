int a[static int];
BEGIN { }
