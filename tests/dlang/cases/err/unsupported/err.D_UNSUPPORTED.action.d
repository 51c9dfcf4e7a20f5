BEGIN { chill(1); }
