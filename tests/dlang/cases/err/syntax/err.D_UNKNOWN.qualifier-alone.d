const route;

BEGIN { exit(0); }
