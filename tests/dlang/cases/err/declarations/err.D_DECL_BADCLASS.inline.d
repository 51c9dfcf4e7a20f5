inline static int x = nosuch;
BEGIN { }
