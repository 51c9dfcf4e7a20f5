BEGIN
/pid && execname/
{
}
