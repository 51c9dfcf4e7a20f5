BEGIN { trace(0789); }
