enum a { RED };
enum b { RED };
BEGIN { }
