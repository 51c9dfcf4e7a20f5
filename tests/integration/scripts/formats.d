/* program: events.py
 * options: -q */
pyusdt$target:::user_trace-i4s4
/arg2 == 5 || arg2 == 10/
{
	printf("[%d] [%5d] [%-5d] [%05d] [%+d] [%u] [%x] [%X] [%#x] [%o] [%c]\n", arg2, arg2, arg2, arg2, arg2, arg2,
	    arg2, arg2, arg2, arg2, 'a');
	printf("[%d] [%x] [%lld] [%llx] [%hd] [%i]\n", arg5, arg4, arg5, arg4, (short)arg5, arg3);
	printf("[%s] [%8s] [%-8s] [%.2s] [%8.3s] [%*d] 100%%\n", copyinstr(arg6), copyinstr(arg1), copyinstr(arg1),
	    copyinstr(arg6), copyinstr(arg6), 6, arg2);
}
