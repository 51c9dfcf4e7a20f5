/* As cpp leaves a script that includes files: their types may have the names of D's, the kernel's and the script's own. */
typedef int mine;
struct pair { int a; };
# 1 "x.h" 1
# 1 "y.h" 1
typedef int int8_t;
typedef char mine;
# 3 "x.h" 2
struct pair { int a, b; };
struct task_struct { short a; };
struct task_struct *task;
enum colour { RED = 1, GREEN };
enum light { RED = 5, pid, BLUE };
union value { char c[3]; };
extern int foo(int);
# 12 "script.d" 2
union value2 { int8_t n; union value v; };

BEGIN
{
	printf("%d %d %d %d", sizeof (int8_t), sizeof (mine), sizeof (struct pair), sizeof (union value2));
	printf(" %d %d", sizeof (struct task_struct), sizeof (*task));
	printf(" %d %d %d %d", RED, GREEN, BLUE, pid != 6);
	exit(0);
}
