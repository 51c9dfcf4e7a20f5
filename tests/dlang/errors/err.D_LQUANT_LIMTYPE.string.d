BEGIN { @ = lquantize(1, 0, "ten", 1); }
