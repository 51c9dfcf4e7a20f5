# 1 "x.h" 2
typedef int int8_t;
# 3 "script.d" 1
BEGIN { }
