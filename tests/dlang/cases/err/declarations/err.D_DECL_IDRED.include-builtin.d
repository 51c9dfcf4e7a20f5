# 1 "x.h" 1
int pid;
# 3 "script.d" 2
BEGIN { }
