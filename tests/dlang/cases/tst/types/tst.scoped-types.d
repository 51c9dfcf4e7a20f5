/* D`name is the program's own type. */
#pragma D option quiet
struct record { char c; int i; };
union record { char c; int i; };
typedef struct record record_t;
struct D`record r;
BEGIN {
	r.i = 7;
	printf("%d %d %d\n", offsetof(struct D`record, i), offsetof(union D`record, i), sizeof (struct D`record));
	printf("%d %d %d\n", sizeof (D`record_t), offsetof(D`record_t, i), r.i);
	exit(0);
}
