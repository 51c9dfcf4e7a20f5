exit 0

3 1

