dtrace: failed to compile script err.D_SYNTAX.unclosed-parenthesis.d: [D_SYNTAX] line 3: closing ) expected in predicate before /
err.D_SYNTAX.unclosed-parenthesis.d:2:11: [D_SYNTAX]
    /(pid == 1/
              ^
