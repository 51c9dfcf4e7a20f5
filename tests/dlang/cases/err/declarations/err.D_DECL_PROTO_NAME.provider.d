provider web {
	probe start(char *path, int) : (int);
};
BEGIN { }
