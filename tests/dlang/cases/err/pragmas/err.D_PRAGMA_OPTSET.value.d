#pragma D option strsize=large
BEGIN { }
