exit 0

4 0 8
8 4 7

