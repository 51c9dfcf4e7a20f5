/* How long do threads that could run wait for a CPU?  pydtrace -qs scripts/system/runqlat.d   (until Ctrl-C) */
rawtp:sched::sched_wakeup, rawtp:sched::sched_wakeup_new { ready[args[0]->pid] = timestamp; }
rawtp:sched::sched_switch /args[1]->pid && args[1]->__state == 0/ { ready[args[1]->pid] = timestamp; }
rawtp:sched::sched_switch
/ready[args[2]->pid]/
{
	@["microseconds"] = quantize((timestamp - ready[args[2]->pid]) / 1000);
	ready[args[2]->pid] = 0;
}
