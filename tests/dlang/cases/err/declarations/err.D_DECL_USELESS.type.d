int;
BEGIN { }
