BEGIN { @a += sum(1); }
