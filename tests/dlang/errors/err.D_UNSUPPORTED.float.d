double d;
BEGIN { }
