BEGIN { @ = lquantize(1, 0, 4294967299, 1); }
