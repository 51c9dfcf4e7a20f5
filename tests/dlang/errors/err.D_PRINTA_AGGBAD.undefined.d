BEGIN { printa(@a); }
