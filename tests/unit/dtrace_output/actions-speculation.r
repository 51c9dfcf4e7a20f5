1 2 0
now
held by a
more of a
error

