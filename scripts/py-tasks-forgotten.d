/*
 * Which tasks of asyncio does nobody wait for?
 *
 *     pydtrace -q -s scripts/py-tasks-forgotten.d -c 'python app.py'   (or -p PID, of a program that has the provider python)
 *
 * Prints, for instance:
 *
 *     ended, and nobody waited for them then, by how: 0 returned, 1 by an exception, 2 cancelled
 *       audit                                    1  ValueError                1
 *     created, and how many have not ended
 *       refresh                                  2
 *
 * Who awaits a task after its end is not seen to wait for it.
 */

python*:::task-create
{
	@open[copyinstr(arg2)] = sum(1);
	created[pid, arg0] = 1;
}

python*:::task-done
/created[pid, arg0]/
{
	@open[copyinstr(arg2)] = sum(-1);
	created[pid, arg0] = 0;
}

python*:::task-done
/arg5 == 0/
{
	@alone[copyinstr(arg2), arg3, copyinstr(arg4)] = count();
}

END
{
	printf("ended, and nobody waited for them then, by how: 0 returned, 1 by an exception, 2 cancelled\n");
	printa("  %-40s %d  %-20s %@5d\n", @alone);
	printf("created, and how many have not ended\n");
	printa("  %-40s %@5d\n", @open);
}
