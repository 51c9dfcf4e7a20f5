BEGIN
/arg0 == "/index.html"/
{
}
