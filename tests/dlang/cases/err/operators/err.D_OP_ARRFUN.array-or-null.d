int c;
struct s { char a[4]; } st;
BEGIN
{
	self->s = c ? NULL : st.a;
}
