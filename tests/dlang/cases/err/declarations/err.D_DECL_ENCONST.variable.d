enum e { A = arg0 };
BEGIN { }
