dtrace: failed to compile script err.D_IDENT_BADREF.self.d: [D_IDENT_BADREF] line 1: pointer 'self' may not be referenced as scalar
err.D_IDENT_BADREF.self.d:1:9: [D_IDENT_BADREF]
    BEGIN { self = 1; }
            ^^^^
hint: self->name is a variable
