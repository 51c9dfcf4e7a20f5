exit 10

10 20 n 10
5 z
5

