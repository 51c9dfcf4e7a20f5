dtrace: failed to compile script err.D_KEY_TYPE.void.d: [D_KEY_TYPE] line 1: void expression may not be used as associative array index: key #1
err.D_KEY_TYPE.void.d:1:11: [D_KEY_TYPE]
    BEGIN { a[(void)1] = 2; }
              ^^^^^^^
