BEGIN { self->start = timestamp; }
END { trace(timestamp - start); }
