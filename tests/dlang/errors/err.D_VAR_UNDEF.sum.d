BEGIN { total += arg0; }
