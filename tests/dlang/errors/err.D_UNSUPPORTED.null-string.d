BEGIN
/execname == 0/
{
}
