BEGIN { trace(pid()); }
