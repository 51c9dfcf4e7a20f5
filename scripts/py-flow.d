/*
 * What does a Python program do, call by call, from one function on?
 *
 *     pydtrace -q -s scripts/py-flow.d -c 'python app.py' Shop.handle   (the function's qualified name; or -p PID)
 *
 *     --function=NAME  the qualified name of the function
 *
 * Prints, for instance:
 *
 *     -> shop.app.Shop.handle
 *       -> shop.prices.lookup
 *       <- shop.prices.lookup  prices.py:112
 *     <- shop.app.Shop.handle  app.py:40
 *
 * Where several threads do it at the same time, their lines are mixed: add tid to them.
 */

self int depth;

python*:::function-entry
/self->depth || probefunc == $$1/
{
	printf("%*s-> %s.%s\n", 2 * self->depth, "", probemod, probefunc);
	self->depth++;
}

python*:::function-return
/self->depth/
{
	self->depth--;
	printf("%*s<- %s.%s  %s:%d\n", 2 * self->depth, "", probemod, probefunc, basename(copyinstr(arg0)), arg2);
}
