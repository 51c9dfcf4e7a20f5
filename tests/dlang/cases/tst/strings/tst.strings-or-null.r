exit 0
error in dt_clause_2 for probe ID 1 (dtrace:::BEGIN): invalid address (0x0)
error in dt_clause_3 for probe ID 1 (dtrace:::BEGIN): invalid address (0x0)
error in dt_clause_4 for probe ID 1 (dtrace:::BEGIN): invalid address (0x0)
error in dt_clause_7 for probe ID 1 (dtrace:::BEGIN): invalid address (0x0)
error in dt_clause_8 for probe ID 1 (dtrace:::BEGIN): invalid address (0x0)
error in dt_clause_9 for probe ID 1 (dtrace:::BEGIN): invalid address (0x0)
error in dt_clause_11 for probe ID 1 (dtrace:::BEGIN): invalid address (0x0)
error in dt_clause_14 for probe ID 1 (dtrace:::BEGIN): invalid address (0x0)

1 a b
6 t t
7 a b
11 x x
13 x b
14 3
16 1 1
17 a
18 b
0 4 1
19 256 256
20 1 0

