# 1 "x.h" 1
struct s { int a; };
# 3 "x.h"
struct s { int a; };
# 3 "script.d" 2
BEGIN { }
