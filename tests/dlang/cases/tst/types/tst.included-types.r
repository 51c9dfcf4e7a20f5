exit 0

CPU     ID                    FUNCTION:NAME
  0      1                           :BEGIN 4 1 8 4 2 2 1 2 7 1

