exit 0
error in dt_clause_1 for probe ID 1 (dtrace:::BEGIN): divide-by-zero
error in dt_clause_2 for probe ID 1 (dtrace:::BEGIN): divide-by-zero
error in dt_clause_3 for probe ID 1 (dtrace:::BEGIN): divide-by-zero
error in dt_clause_4 for probe ID 1 (dtrace:::BEGIN): divide-by-zero
error in dt_clause_5 for probe ID 1 (dtrace:::BEGIN): divide-by-zero

first
last 2

