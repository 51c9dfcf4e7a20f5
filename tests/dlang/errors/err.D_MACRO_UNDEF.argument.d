BEGIN
/pid == $1/
{
}
