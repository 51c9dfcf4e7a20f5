/*
 * Where do threads wait for semaphores, conditions, queues, pools and other threads, line by line?
 *
 *     pydtrace -q -s scripts/py-waits.d -c 'python app.py'   (or -p PID, of a program that has the provider python)
 *
 * Prints, for instance:
 *
 *     milliseconds, waits, in which call, of which line
 *            612        3
 *     Semaphore.acquire (/usr/lib/python3.11/threading.py:483)
 *     take (/srv/shop/pool.py:31)
 *
 * It reads the calls of threading, queue and concurrent.futures that wait.  A threading.Lock and the GIL are C, in which
 * Python calls no function: `pyusdt profile --off-cpu PID`, for root, shows the waits for these.
 */

#pragma D option aggsortrev

python*:threading:*acquire:function-entry,
python*:threading:*wait:function-entry,
python*:threading:*join:function-entry,
python*:queue:*get:function-entry,
python*:queue:*put:function-entry,
python*:concurrent.futures._base:Future.result:function-entry,
python*:concurrent.futures._base:result:function-entry,
python*:concurrent.futures._base:wait:function-entry
/self->depth++ == 0/
{
	self->began = timestamp;
}

python*:threading:*acquire:function-return,
python*:threading:*wait:function-return,
python*:threading:*join:function-return,
python*:queue:*get:function-return,
python*:queue:*put:function-return,
python*:concurrent.futures._base:Future.result:function-return,
python*:concurrent.futures._base:result:function-return,
python*:concurrent.futures._base:wait:function-return
/self->depth && --self->depth == 0 && self->began/
{
	@ms[jstack(2)] = sum((timestamp - self->began) / 1000000);
	@waits[jstack(2)] = count();
	self->began = 0;
}

END
{
	trunc(@ms, 20);
	printf("milliseconds, waits, in which call, of which line\n");
	printa("%@10d %@8d%k", @ms, @waits);
}
