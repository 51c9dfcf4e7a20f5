exit 0
error in dt_clause_3 for probe ID 1 (dtrace:::BEGIN): invalid address (0x0)
error in dt_clause_9 for probe ID 1 (dtrace:::BEGIN): invalid address (0x0)
error in dt_clause_10 for probe ID 1 (dtrace:::BEGIN): invalid address (0x0)

1 1
2 1
3 1
5 1
6 1 1
7 1 1
8 1
10 0
11 1
12 0
13 1
14 0
15 1 0

