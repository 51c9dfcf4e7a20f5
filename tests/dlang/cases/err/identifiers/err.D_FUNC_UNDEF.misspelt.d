BEGIN { pritnf("x"); }
