[A] [    B] [C   ] [D]

