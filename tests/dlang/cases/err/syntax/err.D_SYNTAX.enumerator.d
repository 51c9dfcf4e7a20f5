typedef int B;
enum e { C, B };
struct s { B b; };
BEGIN { exit(0); }
