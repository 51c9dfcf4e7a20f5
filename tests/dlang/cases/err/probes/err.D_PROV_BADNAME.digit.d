provider web1 {
	probe go();
};
BEGIN { }
