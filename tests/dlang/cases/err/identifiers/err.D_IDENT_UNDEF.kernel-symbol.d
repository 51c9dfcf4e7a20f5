BEGIN { trace(vmlinux`no_such_symbol); }
