/*
 * Who awaits whom in asyncio, and for how long?
 *
 *     pydtrace -q -s scripts/py-awaits.d -c 'python app.py'   (or -p PID, of a program that has the provider python)
 *
 * Prints, for instance:
 *
 *     milliseconds, waits, what waits > in which coroutine > for what
 *            61        1  main > main > page
 *            60        1  page > page > _GatheringFuture
 *            58        3  fetch > sleep > Future
 *
 * A task has the name of its outermost coroutine.  It waits for another task, which has a line of its own, for a future,
 * or only for its next turn (nothing).  Read it as a tree: what stands at the end of a line is the beginning of others.
 */

#pragma D option aggsortrev

python*:::task-create,
python*:::task-run
{
	coroutine[pid, copyinstr(arg1)] = copyinstr(arg2);
}

python*:::task-suspend
{
	began[pid, arg0] = timestamp;
	where[pid, arg0] = copyinstr(arg3);
	what[pid, arg0] = copyinstr(arg4);
}

python*:::task-run
/began[pid, arg0]/
{
	this->ms = (timestamp - began[pid, arg0]) / 1000000;
	began[pid, arg0] = 0;
	this->task = coroutine[pid, what[pid, arg0]];
	this->what = this->task == NULL ? what[pid, arg0] : this->task;
	@ms[copyinstr(arg2), where[pid, arg0], this->what] = sum(this->ms);
	@waits[copyinstr(arg2), where[pid, arg0], this->what] = count();
}

END
{
	trunc(@ms, 30);
	printf("milliseconds, waits, what waits > in which coroutine > for what\n");
	printa("%@10d %@8d  %s > %s > %s\n", @ms, @waits);
}
