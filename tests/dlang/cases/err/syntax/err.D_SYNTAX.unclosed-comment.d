BEGIN { trace(1); /* the end of it
 }
