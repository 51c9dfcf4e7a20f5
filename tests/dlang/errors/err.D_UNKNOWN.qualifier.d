int f(int x[restrict 3]);
BEGIN { exit(0); }
