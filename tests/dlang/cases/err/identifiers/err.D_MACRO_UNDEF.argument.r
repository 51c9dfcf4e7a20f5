dtrace: failed to compile script err.D_MACRO_UNDEF.argument.d: [D_MACRO_UNDEF] line 2: macro argument $1 is not defined
err.D_MACRO_UNDEF.argument.d:2:9: [D_MACRO_UNDEF]
    /pid == $1/
            ^^
hint: arguments follow the script's name on the command line; -x defaultargs makes missing ones 0
