BEGIN { trace(@a); }
