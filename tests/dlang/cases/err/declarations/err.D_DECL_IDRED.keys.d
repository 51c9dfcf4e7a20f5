int a[int];
int a[int, string];
BEGIN { }
