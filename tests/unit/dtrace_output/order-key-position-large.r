
  a                                                         2                2
  a                                                         3                1
  b                                                         1                3
  b                                                         3                3
  c                                                         2                3
  a                                                         2                2
  a                                                         3                1
  b                                                         1                3
  b                                                         3                3
  c                                                         2                3
