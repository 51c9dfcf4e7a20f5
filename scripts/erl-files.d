/*
 * Which files does a node work on, for whom (the tag of dyntrace:put_tag or pyusdt:put_tag), how often and how long?
 *
 *     pydtrace -q -s scripts/erl-files.d   (until Ctrl-C; the nodes have called pyusdt_vm:enable())
 *
 * Prints, for instance:
 *
 *     tag              operation        calls  errors  microseconds  bytes written
 *     order 7          OPEN                 1       0           112              0
 *
 * The numbers of operations are those of OTP's chapter on DTrace.
 */

BEGIN
{
	name[1] = "OPEN"; name[2] = "READ"; name[3] = "LSEEK"; name[4] = "WRITE"; name[5] = "FSTAT"; name[6] = "PWD";
	name[7] = "READDIR"; name[8] = "CHDIR"; name[9] = "FSYNC"; name[10] = "MKDIR"; name[11] = "DELETE"; name[12] = "RENAME";
	name[13] = "RMDIR"; name[14] = "TRUNCATE"; name[15] = "READ_FILE"; name[16] = "WRITE_INFO"; name[19] = "LSTAT";
	name[20] = "READLINK"; name[21] = "LINK"; name[22] = "SYMLINK"; name[23] = "CLOSE"; name[24] = "PWRITEV"; name[25] = "PREADV";
	name[27] = "IPREAD"; name[28] = "ALTNAME"; name[30] = "FDATASYNC"; name[31] = "FADVISE";
}

erlang*:::efile_drv-entry
{
	began[pid, arg0, arg1] = timestamp;
	@bytes[arg2 ? copyinstr(arg2) : "-", name[arg3]] = sum(arg3 == 4 ? arg6 : 0);
}

erlang*:::efile_drv-return
/began[pid, arg0, arg1]/
{
	@n[arg2 ? copyinstr(arg2) : "-", name[arg3]] = count();
	@errors[arg2 ? copyinstr(arg2) : "-", name[arg3]] = sum(arg5 ? 1 : 0);
	@took[arg2 ? copyinstr(arg2) : "-", name[arg3]] = sum((timestamp - began[pid, arg0, arg1]) / 1000);
	began[pid, arg0, arg1] = 0;
}

END
{
	printf("%-16s %-14s %7s %7s %13s %14s\n", "tag", "operation", "calls", "errors", "microseconds", "bytes written");
	printa("%-16s %-14s %@7d %@7d %@13d %@14d\n", @n, @errors, @took, @bytes);
}
