0xffffe8ffffd2f570 = *
                                            (struct all) {
                                             .arr = (int [3]) [
                                              (int)5,
                                             ],
                                             .p = (pt_t) {
                                              .x = (int)3,
                                             },
                                             .pp = (pt_t *)0x1234,
                                             .cp = (char *)0x1,
                                             .b = (char [5]) [
                                              (char)'o',
                                              (char)'k',
                                             ],
                                             .u = (union) {
                                              .c = (char [4]) [
                                               (char)'D',
                                               (char)'C',
                                               (char)'B',
                                               (char)'A',
                                              ],
                                              .i = (int)1094861636,
                                             },
                                             .mi = (myint)99,
                                             .u8 = (uint8_t)200,
                                             .g = (bool)1,
                                             .h = (enum eh)SECONDVAL,
                                            }
0xffffe8ffffd2f570 = *
                                            (int)-77,
0xffffe8ffffd2f578 = *
                                            (pt_t) {
                                            }
|0xffffe8ffffd2f580 = *
                                            (myint)77,
0xffffe8ffffd2f588 = *
                                            (char)'

