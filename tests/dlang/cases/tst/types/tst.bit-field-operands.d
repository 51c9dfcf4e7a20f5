/* A bit-field ranks by its bits among operands. */
#pragma D option quiet
struct S { unsigned int u:9; unsigned int w:32; unsigned int t:20; unsigned char k:3;}; struct S sv; int m; long l; short s; char c; unsigned int q;
BEGIN { sv.u = 88; sv.w=88; sv.t=88; sv.k=5; m = -1; l = -1; s = -1; c = -1; q = 88;}
BEGIN { printf("%d %d %d %d\n", c < sv.u, s < sv.u, m < sv.u, l < sv.u); }
BEGIN { printf("%d %d %d %d\n", c < sv.w, s < sv.w, m < sv.w, l < sv.w); }
BEGIN { printf("%d %d %d %d\n", c < sv.t, s < sv.t, m < sv.t, l < sv.t); }
BEGIN { printf("%d %d %d %d\n", c < sv.k, s < sv.k, m < sv.k, l < sv.k); }
BEGIN { printf("%d %d\n", (m - sv.u) / 2, (m - sv.t) / 2); }
BEGIN { printf("%d %d\n", (m - sv.w) / 2, (m - q) / 2); }
BEGIN { printf("%d %d %d\n", m < q, c < q, (sv.u - 100) < 0); }
BEGIN { exit(0); }
