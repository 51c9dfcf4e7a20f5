typedef struct a { int b; } a_t;
struct s { int x; };
translator a_t < struct s *S > { b