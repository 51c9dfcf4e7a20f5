dtrace: failed to compile script err.D_PRINTF_ARG_PROTO.missing.d: [D_PRINTF_ARG_PROTO] line 1: printf( ) prototype mismatch: conversion #2 (%d) is missing a corresponding value argument
err.D_PRINTF_ARG_PROTO.missing.d:1:16: [D_PRINTF_ARG_PROTO]
    BEGIN { printf("%d %d\n", 1); }
                   ^^^^^^^^^
hint: each conversion takes an argument; %% prints a percent sign
