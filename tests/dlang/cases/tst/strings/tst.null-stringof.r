exit 0
error in dt_clause_2 for probe ID 1 (dtrace:::BEGIN): invalid address (0x0)
error in dt_clause_4 for probe ID 1 (dtrace:::BEGIN): invalid address (0x0)
error in dt_clause_5 for probe ID 1 (dtrace:::BEGIN): invalid address (0x0)
error in dt_clause_7 for probe ID 1 (dtrace:::BEGIN): invalid address (0x0)
error in dt_clause_9 for probe ID 1 (dtrace:::BEGIN): invalid address (0x0)
error in dt_clause_10 for probe ID 1 (dtrace:::BEGIN): invalid address (0x0)

1 lit
2 0 1
4 1
7 x
9 1
12 own n

