exit 0
error in dt_clause_2 for probe ID 1 (dtrace:::BEGIN): invalid address (0x0)
error in dt_clause_4 for probe ID 1 (dtrace:::BEGIN): invalid address (0x0)
error in dt_clause_7 for probe ID 1 (dtrace:::BEGIN): invalid address (0x0)

[abc] []
101110
1 0 0
abc abc abc
3 4 0
no abc
0
0
gone
gone

