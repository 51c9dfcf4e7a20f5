typedef unsigned long u64;
BEGIN { }
