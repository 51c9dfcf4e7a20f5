exit 0
error in dt_clause_5 for probe ID 1 (dtrace:::BEGIN): index out of bounds (7)
error in dt_clause_6 for probe ID 1 (dtrace:::BEGIN): invalid address (0x8)

10 12 11 13
11 13 12
xy y
14
hello

