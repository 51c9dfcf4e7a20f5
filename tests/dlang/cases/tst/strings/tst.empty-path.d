/* Parts of no path. */
#pragma D option quiet
#pragma D option strsize=64
BEGIN { e = ""; printf("[%s]\n", basename("")); }
BEGIN { printf("[%s]\n", basename(e)); }
BEGIN { printf("[%s]\n", dirname("")); }
BEGIN { printf("[%s]\n", dirname(e)); exit(0); }
