BEGIN { printf("%s", (unsigned long)1 + (u64)1); }
