BEGIN
/self->follow/
{
}
