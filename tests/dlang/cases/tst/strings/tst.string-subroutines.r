exit 0
error in dt_clause_11 for probe ID 1 (dtrace:::BEGIN): invalid address (0x0)
error in dt_clause_12 for probe ID 1 (dtrace:::BEGIN): invalid address (0x0)

12 0 5 24
4
8
-1 8
4 -1
-1 12
3 2
world|wor|llo, wor|he
o, world|orld|hello, world
world|1
c|/|/a/b|.
-1234567|0|-9223372036854775808
hello|, wo
3412 78563412 f0debc9a78563412
234 56789
rld

