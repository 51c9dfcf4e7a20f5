BEGIN { trace(uregs["a"]); }
