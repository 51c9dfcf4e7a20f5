BEGIN { trace(self->a`b); }
