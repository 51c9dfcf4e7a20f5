BEGIN { exit("failed"); }
