# 1 "x.h" 1
typedef char foo;
# 3 "script.d" 2
typedef char foo;
BEGIN { }
