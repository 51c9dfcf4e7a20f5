exit 3

CPU     ID                    FUNCTION:NAME
  0      1                           :BEGIN           1  b                                z2
  0      1                           :BEGIN 
  0      1                           :BEGIN 
  0      1                           :BEGIN   -1 65535         -1          5000000000          0
  0      1                           :BEGIN           4

                1
