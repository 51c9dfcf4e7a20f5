enum color { RED, GREEN = 3, BLUE, };
BEGIN { }
