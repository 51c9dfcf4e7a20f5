BEGIN { self->

