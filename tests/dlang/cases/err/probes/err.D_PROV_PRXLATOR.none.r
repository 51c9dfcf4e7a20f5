dtrace: failed to compile script err.D_PROV_PRXLATOR.none.d: [D_PROV_PRXLATOR] line 2: translator for web:::go output argument #1 from int to struct big is not defined
err.D_PROV_PRXLATOR.none.d:2:16: [D_PROV_PRXLATOR]
    provider web { probe go(int n) : (struct big n); };
                   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
