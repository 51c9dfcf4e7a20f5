#pragma D option nspec=2
BEGIN { a = speculation(); b = speculation(); c = speculation(); printf("%d %d %d\n", a, b, c); }
BEGIN { speculate(a); printf("held by a\n"); }
BEGIN { speculate(b); printf("held by b\n"); this->after = 1; }
BEGIN { speculate(c); printf("held by nobody\n"); }
BEGIN { speculate(a); printf("more of a\n"); }
BEGIN { printf("now\n"); discard(b); }
BEGIN { commit(a); commit(b); commit(0); }
BEGIN { commit(9); reached = 1; }
ERROR { printf("error\n"); }
BEGIN { exit(0); }
