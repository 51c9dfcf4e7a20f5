BEGIN { trace(uregs[4242]); }
