/* A string and a number: the string from that character on. */
#pragma D option quiet
BEGIN { s = "abcdef"; i = 2; printf("%s %s %s %c %s\n", s + 1, 1 + s, s + i, *(s + 3), "xyz" + 1); }
BEGIN { printf("[%s] %d\n", s + 6, strlen(s + 2)); }
BEGIN { t = s + 1; printf("%s %s\n", t, strjoin(t, t + 4)); exit(0); }
