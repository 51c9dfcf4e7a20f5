int char c;
BEGIN { }
