exit 0

bcdef bcdef cdef d yz
[] 4
bcdef bcdeff

