dtrace: failed to compile script err.D_OP_INCOMPAT.compare.d: [D_OP_INCOMPAT] line 3: operands have incompatible types: "int64_t" == "string"
err.D_OP_INCOMPAT.compare.d:2:2: [D_OP_INCOMPAT]
    /arg0 == "/index.html"/
     ^^^^^^^^^^^^^^^^^^^^^
hint: copyinstr(arg) makes a string of an argument that is an address
