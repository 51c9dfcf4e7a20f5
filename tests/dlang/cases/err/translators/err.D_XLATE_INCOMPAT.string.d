struct o { string a; };
translator struct o <int v> {
	a = v;
};
BEGIN { }
