struct zork { struct zork inside; };
BEGIN { }
