struct s { int i; };
inline struct s *P = 0;
BEGIN
{
	trace(P->i);
}
