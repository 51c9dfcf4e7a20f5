dtrace: failed to compile script err.D_PRINTF_DYN_PROTO.width.d: [D_PRINTF_DYN_PROTO] line 1: printf( ) prototype mismatch: conversion #1 (%d) is missing a corresponding "*" argument
err.D_PRINTF_DYN_PROTO.width.d:1:16: [D_PRINTF_DYN_PROTO]
    BEGIN { printf("%*d"); }
                   ^^^^^
