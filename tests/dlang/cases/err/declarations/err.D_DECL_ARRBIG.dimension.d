char a[5000000000];
BEGIN { }
