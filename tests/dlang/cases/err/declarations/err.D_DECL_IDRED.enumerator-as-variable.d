enum e { B = 3 };
self int B;
BEGIN { }
