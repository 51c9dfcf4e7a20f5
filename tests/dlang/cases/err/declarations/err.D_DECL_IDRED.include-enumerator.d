# 1 "x.h" 1
enum a { RED };
# 3 "script.d" 2
enum b { RED };
BEGIN { }
