enum e { A = x + 1 };
