static __inline__ int f(int x) { return x; }
BEGIN { }
