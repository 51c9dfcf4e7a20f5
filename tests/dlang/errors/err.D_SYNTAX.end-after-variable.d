int x

