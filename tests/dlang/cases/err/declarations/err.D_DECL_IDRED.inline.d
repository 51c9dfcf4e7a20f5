int x;
inline int x = 3;
BEGIN { }
