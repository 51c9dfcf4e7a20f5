inline int LIMIT = 10;
BEGIN { trace(LIMIT); }
