# 1 "x.h" 1
# 1 "y.h" 1
typedef char foo;
# 3 "x.h" 2
typedef short foo;
# 4 "script.d" 2
BEGIN { }
