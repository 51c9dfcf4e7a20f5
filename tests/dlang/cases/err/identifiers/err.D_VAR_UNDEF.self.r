dtrace: failed to compile script err.D_VAR_UNDEF.self.d: [D_VAR_UNDEF] line 2: self->follow has not yet been declared or assigned
err.D_VAR_UNDEF.self.d:2:2: [D_VAR_UNDEF]
    /self->follow/
     ^^^^^^^^^^^^
hint: declare it, or assign it in a clause before this one (self->follow = …)
