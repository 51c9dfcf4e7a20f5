exit 0
3 5 7