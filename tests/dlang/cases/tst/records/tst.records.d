/* Several actions in one clause, the default action, clauses that only compute. */
BEGIN { trace(1); x = 2; trace("b"); printf("z%d", x); }
BEGIN { }
BEGIN /x == 2/ { }
BEGIN /x == 3/ { }
BEGIN { x = 4; }
BEGIN { @ = count(); }
BEGIN { trace((char)-1); trace((unsigned short)-1); trace(-1); trace(5000000000); trace(execname == ""); }
BEGIN { exit(3); trace(x); }
