dtrace: failed to compile script err.D_SYNTAX.initializer.d: [D_SYNTAX] line 1: syntax error near "="
err.D_SYNTAX.initializer.d:1:7: [D_SYNTAX]
    int x = 3;
          ^
hint: a variable gets its value in a clause, such as BEGIN
