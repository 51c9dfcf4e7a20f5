/*
 * Which tasks of asyncio keep its loop busy, and for how long at a time does one of them block all others?
 *
 *     pydtrace -q -s scripts/py-tasks.d -c 'python app.py'   (or -p PID, of a program that has the provider python)
 *
 * Prints, for instance:
 *
 *     microseconds that tasks ran, steps, longest step
 *       fetch                                       204332      12      98201
 *     longest steps: nothing else ran in this loop meanwhile
 *       fetch                                    Task-7                  98 ms
 *
 * A step is what a task runs between two suspensions.  Tasks have the name of their outermost coroutine.
 */

python*:::task-run
{
	began[pid, arg0] = timestamp;
}

python*:::task-suspend,
python*:::task-done
/began[pid, arg0]/
{
	this->took = (timestamp - began[pid, arg0]) / 1000;
	began[pid, arg0] = 0;
	@ran_us[copyinstr(arg2)] = sum(this->took);
	@steps[copyinstr(arg2)] = count();
	@longest_us[copyinstr(arg2)] = max(this->took);
	@step_ms[copyinstr(arg2), copyinstr(arg1)] = max(this->took / 1000);
}

END
{
	trunc(@ran_us, 20);
	trunc(@step_ms, 10);
	printf("microseconds that tasks ran, steps, longest step\n");
	printa("  %-40s %@10d %@7d %@10d\n", @ran_us, @steps, @longest_us);
	printf("longest steps: nothing else ran in this loop meanwhile\n");
	printa("  %-40s %-20s %@5d ms\n", @step_ms);
}
