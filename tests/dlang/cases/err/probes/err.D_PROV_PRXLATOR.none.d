struct big { int a; };
provider web { probe go(int n) : (struct big n); };
web*:::go { trace(args[0].a); }
