provider web {
	probe go();
	probe go(int);
};
BEGIN { }
