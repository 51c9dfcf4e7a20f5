exit 0

CPU     ID                    FUNCTION:NAME
  0      1                           :BEGIN           1          2                    4                    4          3

