BEGIN { @a = count(); b[@a] = 2; }
