dtrace: failed to compile script err.D_SYNTAX.end-after-translator-member.d: [D_SYNTAX] line 3: syntax error near end of input
err.D_SYNTAX.end-after-translator-member.d:3:35: [D_SYNTAX]
    translator a_t < struct s *S > { b
                                      ^
hint: expected = here
