# 1 "x.h"
typedef int int8_t;
# 3 "script.d"
BEGIN { }
