struct o { int count; };
translator struct o <int v> {
	cuont = v;
};
BEGIN { }
