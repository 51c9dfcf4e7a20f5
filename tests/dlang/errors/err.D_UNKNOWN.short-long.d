long short x;
BEGIN { }
