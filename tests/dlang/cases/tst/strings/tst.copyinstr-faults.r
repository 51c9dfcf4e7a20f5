exit 0
error in dt_clause_1 for probe ID 1 (dtrace:::BEGIN): invalid address (0x0)
error in dt_clause_2 for probe ID 1 (dtrace:::BEGIN): invalid address (0x10)
error in dt_clause_3 for probe ID 1 (dtrace:::BEGIN): invalid address (0x20)
error in dt_clause_4 for probe ID 1 (dtrace:::BEGIN): invalid address (0x30)

keep

