exit 0

CPU     ID                    FUNCTION:NAME
  0      1                           :BEGIN 1 1
0 1
2
2


