unsigned string s;
BEGIN { }
