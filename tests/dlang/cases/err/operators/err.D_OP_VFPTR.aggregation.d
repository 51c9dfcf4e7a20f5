BEGIN { @a = count(); x = 1; x += @a; }
