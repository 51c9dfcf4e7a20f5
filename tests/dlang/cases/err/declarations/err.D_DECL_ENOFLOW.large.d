enum e { A = 2147483648 };
BEGIN { }
