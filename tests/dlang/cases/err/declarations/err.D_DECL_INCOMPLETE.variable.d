struct zork x;
BEGIN { }
