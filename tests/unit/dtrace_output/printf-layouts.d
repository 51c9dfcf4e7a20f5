BEGIN
{
	printf("[%d|%u|%x|%o]", (int)0xffffffd6, (int)0xffffffd6, (unsigned int)0xffffffd6, (short)0xffd6);
	printf("[%d|%u|%x|%o]", (int)0x12c, (int)0x12c, (unsigned int)0x12c, (short)0x12c);
	printf("[%d|%u|%x|%o]", (int)0x0, (int)0x0, (unsigned int)0x0, (short)0x0);
	printf("[%8d|%8u|%8x|%8o]", (int)0xffffffd6, (int)0xffffffd6, (unsigned int)0xffffffd6, (short)0xffd6);
	printf("[%8d|%8u|%8x|%8o]", (int)0x12c, (int)0x12c, (unsigned int)0x12c, (short)0x12c);
	printf("[%8d|%8u|%8x|%8o]", (int)0x0, (int)0x0, (unsigned int)0x0, (short)0x0);
	printf("[%.5d|%.5u|%.5x|%.5o]", (int)0xffffffd6, (int)0xffffffd6, (unsigned int)0xffffffd6, (short)0xffd6);
	printf("[%.5d|%.5u|%.5x|%.5o]", (int)0x12c, (int)0x12c, (unsigned int)0x12c, (short)0x12c);
	printf("[%.5d|%.5u|%.5x|%.5o]", (int)0x0, (int)0x0, (unsigned int)0x0, (short)0x0);
	printf("[%8.3d|%8.3u|%8.3x|%8.3o]", (int)0xffffffd6, (int)0xffffffd6, (unsigned int)0xffffffd6, (short)0xffd6);
	printf("[%8.3d|%8.3u|%8.3x|%8.3o]", (int)0x12c, (int)0x12c, (unsigned int)0x12c, (short)0x12c);
	printf("[%8.3d|%8.3u|%8.3x|%8.3o]", (int)0x0, (int)0x0, (unsigned int)0x0, (short)0x0);
	printf("[%3.8d|%3.8u|%3.8x|%3.8o]", (int)0xffffffd6, (int)0xffffffd6, (unsigned int)0xffffffd6, (short)0xffd6);
	printf("[%3.8d|%3.8u|%3.8x|%3.8o]", (int)0x12c, (int)0x12c, (unsigned int)0x12c, (short)0x12c);
	printf("[%3.8d|%3.8u|%3.8x|%3.8o]", (int)0x0, (int)0x0, (unsigned int)0x0, (short)0x0);
	printf("[%.0d|%.0u|%.0x|%.0o]", (int)0xffffffd6, (int)0xffffffd6, (unsigned int)0xffffffd6, (short)0xffd6);
	printf("[%.0d|%.0u|%.0x|%.0o]", (int)0x12c, (int)0x12c, (unsigned int)0x12c, (short)0x12c);
	printf("[%.0d|%.0u|%.0x|%.0o]", (int)0x0, (int)0x0, (unsigned int)0x0, (short)0x0);
	printf("[%8.0d|%8.0u|%8.0x|%8.0o]", (int)0xffffffd6, (int)0xffffffd6, (unsigned int)0xffffffd6, (short)0xffd6);
	printf("[%8.0d|%8.0u|%8.0x|%8.0o]", (int)0x12c, (int)0x12c, (unsigned int)0x12c, (short)0x12c);
	printf("[%8.0d|%8.0u|%8.0x|%8.0o]", (int)0x0, (int)0x0, (unsigned int)0x0, (short)0x0);
	printf("[%.d|%.u|%.x|%.o]", (int)0xffffffd6, (int)0xffffffd6, (unsigned int)0xffffffd6, (short)0xffd6);
	printf("[%.d|%.u|%.x|%.o]", (int)0x12c, (int)0x12c, (unsigned int)0x12c, (short)0x12c);
	printf("[%.d|%.u|%.x|%.o]", (int)0x0, (int)0x0, (unsigned int)0x0, (short)0x0);
}
BEGIN
{
	printf("[%#d|%#u|%#x|%#o]", (int)0xffffffd6, (int)0xffffffd6, (unsigned int)0xffffffd6, (short)0xffd6);
	printf("[%#d|%#u|%#x|%#o]", (int)0x12c, (int)0x12c, (unsigned int)0x12c, (short)0x12c);
	printf("[%#d|%#u|%#x|%#o]", (int)0x0, (int)0x0, (unsigned int)0x0, (short)0x0);
	printf("[%#8d|%#8u|%#8x|%#8o]", (int)0xffffffd6, (int)0xffffffd6, (unsigned int)0xffffffd6, (short)0xffd6);
	printf("[%#8d|%#8u|%#8x|%#8o]", (int)0x12c, (int)0x12c, (unsigned int)0x12c, (short)0x12c);
	printf("[%#8d|%#8u|%#8x|%#8o]", (int)0x0, (int)0x0, (unsigned int)0x0, (short)0x0);
	printf("[%#.5d|%#.5u|%#.5x|%#.5o]", (int)0xffffffd6, (int)0xffffffd6, (unsigned int)0xffffffd6, (short)0xffd6);
	printf("[%#.5d|%#.5u|%#.5x|%#.5o]", (int)0x12c, (int)0x12c, (unsigned int)0x12c, (short)0x12c);
	printf("[%#.5d|%#.5u|%#.5x|%#.5o]", (int)0x0, (int)0x0, (unsigned int)0x0, (short)0x0);
	printf("[%#8.3d|%#8.3u|%#8.3x|%#8.3o]", (int)0xffffffd6, (int)0xffffffd6, (unsigned int)0xffffffd6, (short)0xffd6);
	printf("[%#8.3d|%#8.3u|%#8.3x|%#8.3o]", (int)0x12c, (int)0x12c, (unsigned int)0x12c, (short)0x12c);
	printf("[%#8.3d|%#8.3u|%#8.3x|%#8.3o]", (int)0x0, (int)0x0, (unsigned int)0x0, (short)0x0);
	printf("[%#3.8d|%#3.8u|%#3.8x|%#3.8o]", (int)0xffffffd6, (int)0xffffffd6, (unsigned int)0xffffffd6, (short)0xffd6);
	printf("[%#3.8d|%#3.8u|%#3.8x|%#3.8o]", (int)0x12c, (int)0x12c, (unsigned int)0x12c, (short)0x12c);
	printf("[%#3.8d|%#3.8u|%#3.8x|%#3.8o]", (int)0x0, (int)0x0, (unsigned int)0x0, (short)0x0);
	printf("[%#.0d|%#.0u|%#.0x|%#.0o]", (int)0xffffffd6, (int)0xffffffd6, (unsigned int)0xffffffd6, (short)0xffd6);
	printf("[%#.0d|%#.0u|%#.0x|%#.0o]", (int)0x12c, (int)0x12c, (unsigned int)0x12c, (short)0x12c);
	printf("[%#.0d|%#.0u|%#.0x|%#.0o]", (int)0x0, (int)0x0, (unsigned int)0x0, (short)0x0);
	printf("[%#8.0d|%#8.0u|%#8.0x|%#8.0o]", (int)0xffffffd6, (int)0xffffffd6, (unsigned int)0xffffffd6, (short)0xffd6);
	printf("[%#8.0d|%#8.0u|%#8.0x|%#8.0o]", (int)0x12c, (int)0x12c, (unsigned int)0x12c, (short)0x12c);
	printf("[%#8.0d|%#8.0u|%#8.0x|%#8.0o]", (int)0x0, (int)0x0, (unsigned int)0x0, (short)0x0);
	printf("[%#.d|%#.u|%#.x|%#.o]", (int)0xffffffd6, (int)0xffffffd6, (unsigned int)0xffffffd6, (short)0xffd6);
	printf("[%#.d|%#.u|%#.x|%#.o]", (int)0x12c, (int)0x12c, (unsigned int)0x12c, (short)0x12c);
	printf("[%#.d|%#.u|%#.x|%#.o]", (int)0x0, (int)0x0, (unsigned int)0x0, (short)0x0);
}
BEGIN
{
	printf("[%0d|%0u|%0x|%0o]", (int)0xffffffd6, (int)0xffffffd6, (unsigned int)0xffffffd6, (short)0xffd6);
	printf("[%0d|%0u|%0x|%0o]", (int)0x12c, (int)0x12c, (unsigned int)0x12c, (short)0x12c);
	printf("[%0d|%0u|%0x|%0o]", (int)0x0, (int)0x0, (unsigned int)0x0, (short)0x0);
	printf("[%08d|%08u|%08x|%08o]", (int)0xffffffd6, (int)0xffffffd6, (unsigned int)0xffffffd6, (short)0xffd6);
	printf("[%08d|%08u|%08x|%08o]", (int)0x12c, (int)0x12c, (unsigned int)0x12c, (short)0x12c);
	printf("[%08d|%08u|%08x|%08o]", (int)0x0, (int)0x0, (unsigned int)0x0, (short)0x0);
	printf("[%0.5d|%0.5u|%0.5x|%0.5o]", (int)0xffffffd6, (int)0xffffffd6, (unsigned int)0xffffffd6, (short)0xffd6);
	printf("[%0.5d|%0.5u|%0.5x|%0.5o]", (int)0x12c, (int)0x12c, (unsigned int)0x12c, (short)0x12c);
	printf("[%0.5d|%0.5u|%0.5x|%0.5o]", (int)0x0, (int)0x0, (unsigned int)0x0, (short)0x0);
	printf("[%08.3d|%08.3u|%08.3x|%08.3o]", (int)0xffffffd6, (int)0xffffffd6, (unsigned int)0xffffffd6, (short)0xffd6);
	printf("[%08.3d|%08.3u|%08.3x|%08.3o]", (int)0x12c, (int)0x12c, (unsigned int)0x12c, (short)0x12c);
	printf("[%08.3d|%08.3u|%08.3x|%08.3o]", (int)0x0, (int)0x0, (unsigned int)0x0, (short)0x0);
	printf("[%03.8d|%03.8u|%03.8x|%03.8o]", (int)0xffffffd6, (int)0xffffffd6, (unsigned int)0xffffffd6, (short)0xffd6);
	printf("[%03.8d|%03.8u|%03.8x|%03.8o]", (int)0x12c, (int)0x12c, (unsigned int)0x12c, (short)0x12c);
	printf("[%03.8d|%03.8u|%03.8x|%03.8o]", (int)0x0, (int)0x0, (unsigned int)0x0, (short)0x0);
	printf("[%0.0d|%0.0u|%0.0x|%0.0o]", (int)0xffffffd6, (int)0xffffffd6, (unsigned int)0xffffffd6, (short)0xffd6);
	printf("[%0.0d|%0.0u|%0.0x|%0.0o]", (int)0x12c, (int)0x12c, (unsigned int)0x12c, (short)0x12c);
	printf("[%0.0d|%0.0u|%0.0x|%0.0o]", (int)0x0, (int)0x0, (unsigned int)0x0, (short)0x0);
	printf("[%08.0d|%08.0u|%08.0x|%08.0o]", (int)0xffffffd6, (int)0xffffffd6, (unsigned int)0xffffffd6, (short)0xffd6);
	printf("[%08.0d|%08.0u|%08.0x|%08.0o]", (int)0x12c, (int)0x12c, (unsigned int)0x12c, (short)0x12c);
	printf("[%08.0d|%08.0u|%08.0x|%08.0o]", (int)0x0, (int)0x0, (unsigned int)0x0, (short)0x0);
	printf("[%0.d|%0.u|%0.x|%0.o]", (int)0xffffffd6, (int)0xffffffd6, (unsigned int)0xffffffd6, (short)0xffd6);
	printf("[%0.d|%0.u|%0.x|%0.o]", (int)0x12c, (int)0x12c, (unsigned int)0x12c, (short)0x12c);
	printf("[%0.d|%0.u|%0.x|%0.o]", (int)0x0, (int)0x0, (unsigned int)0x0, (short)0x0);
}
BEGIN
{
	printf("[%-d|%-u|%-x|%-o]", (int)0xffffffd6, (int)0xffffffd6, (unsigned int)0xffffffd6, (short)0xffd6);
	printf("[%-d|%-u|%-x|%-o]", (int)0x12c, (int)0x12c, (unsigned int)0x12c, (short)0x12c);
	printf("[%-d|%-u|%-x|%-o]", (int)0x0, (int)0x0, (unsigned int)0x0, (short)0x0);
	printf("[%-8d|%-8u|%-8x|%-8o]", (int)0xffffffd6, (int)0xffffffd6, (unsigned int)0xffffffd6, (short)0xffd6);
	printf("[%-8d|%-8u|%-8x|%-8o]", (int)0x12c, (int)0x12c, (unsigned int)0x12c, (short)0x12c);
	printf("[%-8d|%-8u|%-8x|%-8o]", (int)0x0, (int)0x0, (unsigned int)0x0, (short)0x0);
	printf("[%-.5d|%-.5u|%-.5x|%-.5o]", (int)0xffffffd6, (int)0xffffffd6, (unsigned int)0xffffffd6, (short)0xffd6);
	printf("[%-.5d|%-.5u|%-.5x|%-.5o]", (int)0x12c, (int)0x12c, (unsigned int)0x12c, (short)0x12c);
	printf("[%-.5d|%-.5u|%-.5x|%-.5o]", (int)0x0, (int)0x0, (unsigned int)0x0, (short)0x0);
	printf("[%-8.3d|%-8.3u|%-8.3x|%-8.3o]", (int)0xffffffd6, (int)0xffffffd6, (unsigned int)0xffffffd6, (short)0xffd6);
	printf("[%-8.3d|%-8.3u|%-8.3x|%-8.3o]", (int)0x12c, (int)0x12c, (unsigned int)0x12c, (short)0x12c);
	printf("[%-8.3d|%-8.3u|%-8.3x|%-8.3o]", (int)0x0, (int)0x0, (unsigned int)0x0, (short)0x0);
	printf("[%-3.8d|%-3.8u|%-3.8x|%-3.8o]", (int)0xffffffd6, (int)0xffffffd6, (unsigned int)0xffffffd6, (short)0xffd6);
	printf("[%-3.8d|%-3.8u|%-3.8x|%-3.8o]", (int)0x12c, (int)0x12c, (unsigned int)0x12c, (short)0x12c);
	printf("[%-3.8d|%-3.8u|%-3.8x|%-3.8o]", (int)0x0, (int)0x0, (unsigned int)0x0, (short)0x0);
	printf("[%-.0d|%-.0u|%-.0x|%-.0o]", (int)0xffffffd6, (int)0xffffffd6, (unsigned int)0xffffffd6, (short)0xffd6);
	printf("[%-.0d|%-.0u|%-.0x|%-.0o]", (int)0x12c, (int)0x12c, (unsigned int)0x12c, (short)0x12c);
	printf("[%-.0d|%-.0u|%-.0x|%-.0o]", (int)0x0, (int)0x0, (unsigned int)0x0, (short)0x0);
	printf("[%-8.0d|%-8.0u|%-8.0x|%-8.0o]", (int)0xffffffd6, (int)0xffffffd6, (unsigned int)0xffffffd6, (short)0xffd6);
	printf("[%-8.0d|%-8.0u|%-8.0x|%-8.0o]", (int)0x12c, (int)0x12c, (unsigned int)0x12c, (short)0x12c);
	printf("[%-8.0d|%-8.0u|%-8.0x|%-8.0o]", (int)0x0, (int)0x0, (unsigned int)0x0, (short)0x0);
	printf("[%-.d|%-.u|%-.x|%-.o]", (int)0xffffffd6, (int)0xffffffd6, (unsigned int)0xffffffd6, (short)0xffd6);
	printf("[%-.d|%-.u|%-.x|%-.o]", (int)0x12c, (int)0x12c, (unsigned int)0x12c, (short)0x12c);
	printf("[%-.d|%-.u|%-.x|%-.o]", (int)0x0, (int)0x0, (unsigned int)0x0, (short)0x0);
}
BEGIN
{
	printf("[%+d|%+u|%+x|%+o]", (int)0xffffffd6, (int)0xffffffd6, (unsigned int)0xffffffd6, (short)0xffd6);
	printf("[%+d|%+u|%+x|%+o]", (int)0x12c, (int)0x12c, (unsigned int)0x12c, (short)0x12c);
	printf("[%+d|%+u|%+x|%+o]", (int)0x0, (int)0x0, (unsigned int)0x0, (short)0x0);
	printf("[%+8d|%+8u|%+8x|%+8o]", (int)0xffffffd6, (int)0xffffffd6, (unsigned int)0xffffffd6, (short)0xffd6);
	printf("[%+8d|%+8u|%+8x|%+8o]", (int)0x12c, (int)0x12c, (unsigned int)0x12c, (short)0x12c);
	printf("[%+8d|%+8u|%+8x|%+8o]", (int)0x0, (int)0x0, (unsigned int)0x0, (short)0x0);
	printf("[%+.5d|%+.5u|%+.5x|%+.5o]", (int)0xffffffd6, (int)0xffffffd6, (unsigned int)0xffffffd6, (short)0xffd6);
	printf("[%+.5d|%+.5u|%+.5x|%+.5o]", (int)0x12c, (int)0x12c, (unsigned int)0x12c, (short)0x12c);
	printf("[%+.5d|%+.5u|%+.5x|%+.5o]", (int)0x0, (int)0x0, (unsigned int)0x0, (short)0x0);
	printf("[%+8.3d|%+8.3u|%+8.3x|%+8.3o]", (int)0xffffffd6, (int)0xffffffd6, (unsigned int)0xffffffd6, (short)0xffd6);
	printf("[%+8.3d|%+8.3u|%+8.3x|%+8.3o]", (int)0x12c, (int)0x12c, (unsigned int)0x12c, (short)0x12c);
	printf("[%+8.3d|%+8.3u|%+8.3x|%+8.3o]", (int)0x0, (int)0x0, (unsigned int)0x0, (short)0x0);
	printf("[%+3.8d|%+3.8u|%+3.8x|%+3.8o]", (int)0xffffffd6, (int)0xffffffd6, (unsigned int)0xffffffd6, (short)0xffd6);
	printf("[%+3.8d|%+3.8u|%+3.8x|%+3.8o]", (int)0x12c, (int)0x12c, (unsigned int)0x12c, (short)0x12c);
	printf("[%+3.8d|%+3.8u|%+3.8x|%+3.8o]", (int)0x0, (int)0x0, (unsigned int)0x0, (short)0x0);
	printf("[%+.0d|%+.0u|%+.0x|%+.0o]", (int)0xffffffd6, (int)0xffffffd6, (unsigned int)0xffffffd6, (short)0xffd6);
	printf("[%+.0d|%+.0u|%+.0x|%+.0o]", (int)0x12c, (int)0x12c, (unsigned int)0x12c, (short)0x12c);
	printf("[%+.0d|%+.0u|%+.0x|%+.0o]", (int)0x0, (int)0x0, (unsigned int)0x0, (short)0x0);
	printf("[%+8.0d|%+8.0u|%+8.0x|%+8.0o]", (int)0xffffffd6, (int)0xffffffd6, (unsigned int)0xffffffd6, (short)0xffd6);
	printf("[%+8.0d|%+8.0u|%+8.0x|%+8.0o]", (int)0x12c, (int)0x12c, (unsigned int)0x12c, (short)0x12c);
	printf("[%+8.0d|%+8.0u|%+8.0x|%+8.0o]", (int)0x0, (int)0x0, (unsigned int)0x0, (short)0x0);
	printf("[%+.d|%+.u|%+.x|%+.o]", (int)0xffffffd6, (int)0xffffffd6, (unsigned int)0xffffffd6, (short)0xffd6);
	printf("[%+.d|%+.u|%+.x|%+.o]", (int)0x12c, (int)0x12c, (unsigned int)0x12c, (short)0x12c);
	printf("[%+.d|%+.u|%+.x|%+.o]", (int)0x0, (int)0x0, (unsigned int)0x0, (short)0x0);
}
BEGIN
{
	printf("[% d|% u|% x|% o]", (int)0xffffffd6, (int)0xffffffd6, (unsigned int)0xffffffd6, (short)0xffd6);
	printf("[% d|% u|% x|% o]", (int)0x12c, (int)0x12c, (unsigned int)0x12c, (short)0x12c);
	printf("[% d|% u|% x|% o]", (int)0x0, (int)0x0, (unsigned int)0x0, (short)0x0);
	printf("[% 8d|% 8u|% 8x|% 8o]", (int)0xffffffd6, (int)0xffffffd6, (unsigned int)0xffffffd6, (short)0xffd6);
	printf("[% 8d|% 8u|% 8x|% 8o]", (int)0x12c, (int)0x12c, (unsigned int)0x12c, (short)0x12c);
	printf("[% 8d|% 8u|% 8x|% 8o]", (int)0x0, (int)0x0, (unsigned int)0x0, (short)0x0);
	printf("[% .5d|% .5u|% .5x|% .5o]", (int)0xffffffd6, (int)0xffffffd6, (unsigned int)0xffffffd6, (short)0xffd6);
	printf("[% .5d|% .5u|% .5x|% .5o]", (int)0x12c, (int)0x12c, (unsigned int)0x12c, (short)0x12c);
	printf("[% .5d|% .5u|% .5x|% .5o]", (int)0x0, (int)0x0, (unsigned int)0x0, (short)0x0);
	printf("[% 8.3d|% 8.3u|% 8.3x|% 8.3o]", (int)0xffffffd6, (int)0xffffffd6, (unsigned int)0xffffffd6, (short)0xffd6);
	printf("[% 8.3d|% 8.3u|% 8.3x|% 8.3o]", (int)0x12c, (int)0x12c, (unsigned int)0x12c, (short)0x12c);
	printf("[% 8.3d|% 8.3u|% 8.3x|% 8.3o]", (int)0x0, (int)0x0, (unsigned int)0x0, (short)0x0);
	printf("[% 3.8d|% 3.8u|% 3.8x|% 3.8o]", (int)0xffffffd6, (int)0xffffffd6, (unsigned int)0xffffffd6, (short)0xffd6);
	printf("[% 3.8d|% 3.8u|% 3.8x|% 3.8o]", (int)0x12c, (int)0x12c, (unsigned int)0x12c, (short)0x12c);
	printf("[% 3.8d|% 3.8u|% 3.8x|% 3.8o]", (int)0x0, (int)0x0, (unsigned int)0x0, (short)0x0);
	printf("[% .0d|% .0u|% .0x|% .0o]", (int)0xffffffd6, (int)0xffffffd6, (unsigned int)0xffffffd6, (short)0xffd6);
	printf("[% .0d|% .0u|% .0x|% .0o]", (int)0x12c, (int)0x12c, (unsigned int)0x12c, (short)0x12c);
	printf("[% .0d|% .0u|% .0x|% .0o]", (int)0x0, (int)0x0, (unsigned int)0x0, (short)0x0);
	printf("[% 8.0d|% 8.0u|% 8.0x|% 8.0o]", (int)0xffffffd6, (int)0xffffffd6, (unsigned int)0xffffffd6, (short)0xffd6);
	printf("[% 8.0d|% 8.0u|% 8.0x|% 8.0o]", (int)0x12c, (int)0x12c, (unsigned int)0x12c, (short)0x12c);
	printf("[% 8.0d|% 8.0u|% 8.0x|% 8.0o]", (int)0x0, (int)0x0, (unsigned int)0x0, (short)0x0);
	printf("[% .d|% .u|% .x|% .o]", (int)0xffffffd6, (int)0xffffffd6, (unsigned int)0xffffffd6, (short)0xffd6);
	printf("[% .d|% .u|% .x|% .o]", (int)0x12c, (int)0x12c, (unsigned int)0x12c, (short)0x12c);
	printf("[% .d|% .u|% .x|% .o]", (int)0x0, (int)0x0, (unsigned int)0x0, (short)0x0);
}
BEGIN
{
	printf("[%'d|%'u|%'x|%'o]", (int)0xffffffd6, (int)0xffffffd6, (unsigned int)0xffffffd6, (short)0xffd6);
	printf("[%'d|%'u|%'x|%'o]", (int)0x12c, (int)0x12c, (unsigned int)0x12c, (short)0x12c);
	printf("[%'d|%'u|%'x|%'o]", (int)0x0, (int)0x0, (unsigned int)0x0, (short)0x0);
	printf("[%'8d|%'8u|%'8x|%'8o]", (int)0xffffffd6, (int)0xffffffd6, (unsigned int)0xffffffd6, (short)0xffd6);
	printf("[%'8d|%'8u|%'8x|%'8o]", (int)0x12c, (int)0x12c, (unsigned int)0x12c, (short)0x12c);
	printf("[%'8d|%'8u|%'8x|%'8o]", (int)0x0, (int)0x0, (unsigned int)0x0, (short)0x0);
	printf("[%'.5d|%'.5u|%'.5x|%'.5o]", (int)0xffffffd6, (int)0xffffffd6, (unsigned int)0xffffffd6, (short)0xffd6);
	printf("[%'.5d|%'.5u|%'.5x|%'.5o]", (int)0x12c, (int)0x12c, (unsigned int)0x12c, (short)0x12c);
	printf("[%'.5d|%'.5u|%'.5x|%'.5o]", (int)0x0, (int)0x0, (unsigned int)0x0, (short)0x0);
	printf("[%'8.3d|%'8.3u|%'8.3x|%'8.3o]", (int)0xffffffd6, (int)0xffffffd6, (unsigned int)0xffffffd6, (short)0xffd6);
	printf("[%'8.3d|%'8.3u|%'8.3x|%'8.3o]", (int)0x12c, (int)0x12c, (unsigned int)0x12c, (short)0x12c);
	printf("[%'8.3d|%'8.3u|%'8.3x|%'8.3o]", (int)0x0, (int)0x0, (unsigned int)0x0, (short)0x0);
	printf("[%'3.8d|%'3.8u|%'3.8x|%'3.8o]", (int)0xffffffd6, (int)0xffffffd6, (unsigned int)0xffffffd6, (short)0xffd6);
	printf("[%'3.8d|%'3.8u|%'3.8x|%'3.8o]", (int)0x12c, (int)0x12c, (unsigned int)0x12c, (short)0x12c);
	printf("[%'3.8d|%'3.8u|%'3.8x|%'3.8o]", (int)0x0, (int)0x0, (unsigned int)0x0, (short)0x0);
	printf("[%'.0d|%'.0u|%'.0x|%'.0o]", (int)0xffffffd6, (int)0xffffffd6, (unsigned int)0xffffffd6, (short)0xffd6);
	printf("[%'.0d|%'.0u|%'.0x|%'.0o]", (int)0x12c, (int)0x12c, (unsigned int)0x12c, (short)0x12c);
	printf("[%'.0d|%'.0u|%'.0x|%'.0o]", (int)0x0, (int)0x0, (unsigned int)0x0, (short)0x0);
	printf("[%'8.0d|%'8.0u|%'8.0x|%'8.0o]", (int)0xffffffd6, (int)0xffffffd6, (unsigned int)0xffffffd6, (short)0xffd6);
	printf("[%'8.0d|%'8.0u|%'8.0x|%'8.0o]", (int)0x12c, (int)0x12c, (unsigned int)0x12c, (short)0x12c);
	printf("[%'8.0d|%'8.0u|%'8.0x|%'8.0o]", (int)0x0, (int)0x0, (unsigned int)0x0, (short)0x0);
	printf("[%'.d|%'.u|%'.x|%'.o]", (int)0xffffffd6, (int)0xffffffd6, (unsigned int)0xffffffd6, (short)0xffd6);
	printf("[%'.d|%'.u|%'.x|%'.o]", (int)0x12c, (int)0x12c, (unsigned int)0x12c, (short)0x12c);
	printf("[%'.d|%'.u|%'.x|%'.o]", (int)0x0, (int)0x0, (unsigned int)0x0, (short)0x0);
}
BEGIN
{
	printf("[%-0d|%-0u|%-0x|%-0o]", (int)0xffffffd6, (int)0xffffffd6, (unsigned int)0xffffffd6, (short)0xffd6);
	printf("[%-0d|%-0u|%-0x|%-0o]", (int)0x12c, (int)0x12c, (unsigned int)0x12c, (short)0x12c);
	printf("[%-0d|%-0u|%-0x|%-0o]", (int)0x0, (int)0x0, (unsigned int)0x0, (short)0x0);
	printf("[%-08d|%-08u|%-08x|%-08o]", (int)0xffffffd6, (int)0xffffffd6, (unsigned int)0xffffffd6, (short)0xffd6);
	printf("[%-08d|%-08u|%-08x|%-08o]", (int)0x12c, (int)0x12c, (unsigned int)0x12c, (short)0x12c);
	printf("[%-08d|%-08u|%-08x|%-08o]", (int)0x0, (int)0x0, (unsigned int)0x0, (short)0x0);
	printf("[%-0.5d|%-0.5u|%-0.5x|%-0.5o]", (int)0xffffffd6, (int)0xffffffd6, (unsigned int)0xffffffd6, (short)0xffd6);
	printf("[%-0.5d|%-0.5u|%-0.5x|%-0.5o]", (int)0x12c, (int)0x12c, (unsigned int)0x12c, (short)0x12c);
	printf("[%-0.5d|%-0.5u|%-0.5x|%-0.5o]", (int)0x0, (int)0x0, (unsigned int)0x0, (short)0x0);
	printf("[%-08.3d|%-08.3u|%-08.3x|%-08.3o]", (int)0xffffffd6, (int)0xffffffd6, (unsigned int)0xffffffd6, (short)0xffd6);
	printf("[%-08.3d|%-08.3u|%-08.3x|%-08.3o]", (int)0x12c, (int)0x12c, (unsigned int)0x12c, (short)0x12c);
	printf("[%-08.3d|%-08.3u|%-08.3x|%-08.3o]", (int)0x0, (int)0x0, (unsigned int)0x0, (short)0x0);
	printf("[%-03.8d|%-03.8u|%-03.8x|%-03.8o]", (int)0xffffffd6, (int)0xffffffd6, (unsigned int)0xffffffd6, (short)0xffd6);
	printf("[%-03.8d|%-03.8u|%-03.8x|%-03.8o]", (int)0x12c, (int)0x12c, (unsigned int)0x12c, (short)0x12c);
	printf("[%-03.8d|%-03.8u|%-03.8x|%-03.8o]", (int)0x0, (int)0x0, (unsigned int)0x0, (short)0x0);
	printf("[%-0.0d|%-0.0u|%-0.0x|%-0.0o]", (int)0xffffffd6, (int)0xffffffd6, (unsigned int)0xffffffd6, (short)0xffd6);
	printf("[%-0.0d|%-0.0u|%-0.0x|%-0.0o]", (int)0x12c, (int)0x12c, (unsigned int)0x12c, (short)0x12c);
	printf("[%-0.0d|%-0.0u|%-0.0x|%-0.0o]", (int)0x0, (int)0x0, (unsigned int)0x0, (short)0x0);
	printf("[%-08.0d|%-08.0u|%-08.0x|%-08.0o]", (int)0xffffffd6, (int)0xffffffd6, (unsigned int)0xffffffd6, (short)0xffd6);
	printf("[%-08.0d|%-08.0u|%-08.0x|%-08.0o]", (int)0x12c, (int)0x12c, (unsigned int)0x12c, (short)0x12c);
	printf("[%-08.0d|%-08.0u|%-08.0x|%-08.0o]", (int)0x0, (int)0x0, (unsigned int)0x0, (short)0x0);
	printf("[%-0.d|%-0.u|%-0.x|%-0.o]", (int)0xffffffd6, (int)0xffffffd6, (unsigned int)0xffffffd6, (short)0xffd6);
	printf("[%-0.d|%-0.u|%-0.x|%-0.o]", (int)0x12c, (int)0x12c, (unsigned int)0x12c, (short)0x12c);
	printf("[%-0.d|%-0.u|%-0.x|%-0.o]", (int)0x0, (int)0x0, (unsigned int)0x0, (short)0x0);
}
BEGIN
{
	printf("[%0-d|%0-u|%0-x|%0-o]", (int)0xffffffd6, (int)0xffffffd6, (unsigned int)0xffffffd6, (short)0xffd6);
	printf("[%0-d|%0-u|%0-x|%0-o]", (int)0x12c, (int)0x12c, (unsigned int)0x12c, (short)0x12c);
	printf("[%0-d|%0-u|%0-x|%0-o]", (int)0x0, (int)0x0, (unsigned int)0x0, (short)0x0);
	printf("[%0-8d|%0-8u|%0-8x|%0-8o]", (int)0xffffffd6, (int)0xffffffd6, (unsigned int)0xffffffd6, (short)0xffd6);
	printf("[%0-8d|%0-8u|%0-8x|%0-8o]", (int)0x12c, (int)0x12c, (unsigned int)0x12c, (short)0x12c);
	printf("[%0-8d|%0-8u|%0-8x|%0-8o]", (int)0x0, (int)0x0, (unsigned int)0x0, (short)0x0);
	printf("[%0-.5d|%0-.5u|%0-.5x|%0-.5o]", (int)0xffffffd6, (int)0xffffffd6, (unsigned int)0xffffffd6, (short)0xffd6);
	printf("[%0-.5d|%0-.5u|%0-.5x|%0-.5o]", (int)0x12c, (int)0x12c, (unsigned int)0x12c, (short)0x12c);
	printf("[%0-.5d|%0-.5u|%0-.5x|%0-.5o]", (int)0x0, (int)0x0, (unsigned int)0x0, (short)0x0);
	printf("[%0-8.3d|%0-8.3u|%0-8.3x|%0-8.3o]", (int)0xffffffd6, (int)0xffffffd6, (unsigned int)0xffffffd6, (short)0xffd6);
	printf("[%0-8.3d|%0-8.3u|%0-8.3x|%0-8.3o]", (int)0x12c, (int)0x12c, (unsigned int)0x12c, (short)0x12c);
	printf("[%0-8.3d|%0-8.3u|%0-8.3x|%0-8.3o]", (int)0x0, (int)0x0, (unsigned int)0x0, (short)0x0);
	printf("[%0-3.8d|%0-3.8u|%0-3.8x|%0-3.8o]", (int)0xffffffd6, (int)0xffffffd6, (unsigned int)0xffffffd6, (short)0xffd6);
	printf("[%0-3.8d|%0-3.8u|%0-3.8x|%0-3.8o]", (int)0x12c, (int)0x12c, (unsigned int)0x12c, (short)0x12c);
	printf("[%0-3.8d|%0-3.8u|%0-3.8x|%0-3.8o]", (int)0x0, (int)0x0, (unsigned int)0x0, (short)0x0);
	printf("[%0-.0d|%0-.0u|%0-.0x|%0-.0o]", (int)0xffffffd6, (int)0xffffffd6, (unsigned int)0xffffffd6, (short)0xffd6);
	printf("[%0-.0d|%0-.0u|%0-.0x|%0-.0o]", (int)0x12c, (int)0x12c, (unsigned int)0x12c, (short)0x12c);
	printf("[%0-.0d|%0-.0u|%0-.0x|%0-.0o]", (int)0x0, (int)0x0, (unsigned int)0x0, (short)0x0);
	printf("[%0-8.0d|%0-8.0u|%0-8.0x|%0-8.0o]", (int)0xffffffd6, (int)0xffffffd6, (unsigned int)0xffffffd6, (short)0xffd6);
	printf("[%0-8.0d|%0-8.0u|%0-8.0x|%0-8.0o]", (int)0x12c, (int)0x12c, (unsigned int)0x12c, (short)0x12c);
	printf("[%0-8.0d|%0-8.0u|%0-8.0x|%0-8.0o]", (int)0x0, (int)0x0, (unsigned int)0x0, (short)0x0);
	printf("[%0-.d|%0-.u|%0-.x|%0-.o]", (int)0xffffffd6, (int)0xffffffd6, (unsigned int)0xffffffd6, (short)0xffd6);
	printf("[%0-.d|%0-.u|%0-.x|%0-.o]", (int)0x12c, (int)0x12c, (unsigned int)0x12c, (short)0x12c);
	printf("[%0-.d|%0-.u|%0-.x|%0-.o]", (int)0x0, (int)0x0, (unsigned int)0x0, (short)0x0);
}
BEGIN
{
	printf("[%+0d|%+0u|%+0x|%+0o]", (int)0xffffffd6, (int)0xffffffd6, (unsigned int)0xffffffd6, (short)0xffd6);
	printf("[%+0d|%+0u|%+0x|%+0o]", (int)0x12c, (int)0x12c, (unsigned int)0x12c, (short)0x12c);
	printf("[%+0d|%+0u|%+0x|%+0o]", (int)0x0, (int)0x0, (unsigned int)0x0, (short)0x0);
	printf("[%+08d|%+08u|%+08x|%+08o]", (int)0xffffffd6, (int)0xffffffd6, (unsigned int)0xffffffd6, (short)0xffd6);
	printf("[%+08d|%+08u|%+08x|%+08o]", (int)0x12c, (int)0x12c, (unsigned int)0x12c, (short)0x12c);
	printf("[%+08d|%+08u|%+08x|%+08o]", (int)0x0, (int)0x0, (unsigned int)0x0, (short)0x0);
	printf("[%+0.5d|%+0.5u|%+0.5x|%+0.5o]", (int)0xffffffd6, (int)0xffffffd6, (unsigned int)0xffffffd6, (short)0xffd6);
	printf("[%+0.5d|%+0.5u|%+0.5x|%+0.5o]", (int)0x12c, (int)0x12c, (unsigned int)0x12c, (short)0x12c);
	printf("[%+0.5d|%+0.5u|%+0.5x|%+0.5o]", (int)0x0, (int)0x0, (unsigned int)0x0, (short)0x0);
	printf("[%+08.3d|%+08.3u|%+08.3x|%+08.3o]", (int)0xffffffd6, (int)0xffffffd6, (unsigned int)0xffffffd6, (short)0xffd6);
	printf("[%+08.3d|%+08.3u|%+08.3x|%+08.3o]", (int)0x12c, (int)0x12c, (unsigned int)0x12c, (short)0x12c);
	printf("[%+08.3d|%+08.3u|%+08.3x|%+08.3o]", (int)0x0, (int)0x0, (unsigned int)0x0, (short)0x0);
	printf("[%+03.8d|%+03.8u|%+03.8x|%+03.8o]", (int)0xffffffd6, (int)0xffffffd6, (unsigned int)0xffffffd6, (short)0xffd6);
	printf("[%+03.8d|%+03.8u|%+03.8x|%+03.8o]", (int)0x12c, (int)0x12c, (unsigned int)0x12c, (short)0x12c);
	printf("[%+03.8d|%+03.8u|%+03.8x|%+03.8o]", (int)0x0, (int)0x0, (unsigned int)0x0, (short)0x0);
	printf("[%+0.0d|%+0.0u|%+0.0x|%+0.0o]", (int)0xffffffd6, (int)0xffffffd6, (unsigned int)0xffffffd6, (short)0xffd6);
	printf("[%+0.0d|%+0.0u|%+0.0x|%+0.0o]", (int)0x12c, (int)0x12c, (unsigned int)0x12c, (short)0x12c);
	printf("[%+0.0d|%+0.0u|%+0.0x|%+0.0o]", (int)0x0, (int)0x0, (unsigned int)0x0, (short)0x0);
	printf("[%+08.0d|%+08.0u|%+08.0x|%+08.0o]", (int)0xffffffd6, (int)0xffffffd6, (unsigned int)0xffffffd6, (short)0xffd6);
	printf("[%+08.0d|%+08.0u|%+08.0x|%+08.0o]", (int)0x12c, (int)0x12c, (unsigned int)0x12c, (short)0x12c);
	printf("[%+08.0d|%+08.0u|%+08.0x|%+08.0o]", (int)0x0, (int)0x0, (unsigned int)0x0, (short)0x0);
	printf("[%+0.d|%+0.u|%+0.x|%+0.o]", (int)0xffffffd6, (int)0xffffffd6, (unsigned int)0xffffffd6, (short)0xffd6);
	printf("[%+0.d|%+0.u|%+0.x|%+0.o]", (int)0x12c, (int)0x12c, (unsigned int)0x12c, (short)0x12c);
	printf("[%+0.d|%+0.u|%+0.x|%+0.o]", (int)0x0, (int)0x0, (unsigned int)0x0, (short)0x0);
}
BEGIN
{
	printf("[%# d|%# u|%# x|%# o]", (int)0xffffffd6, (int)0xffffffd6, (unsigned int)0xffffffd6, (short)0xffd6);
	printf("[%# d|%# u|%# x|%# o]", (int)0x12c, (int)0x12c, (unsigned int)0x12c, (short)0x12c);
	printf("[%# d|%# u|%# x|%# o]", (int)0x0, (int)0x0, (unsigned int)0x0, (short)0x0);
	printf("[%# 8d|%# 8u|%# 8x|%# 8o]", (int)0xffffffd6, (int)0xffffffd6, (unsigned int)0xffffffd6, (short)0xffd6);
	printf("[%# 8d|%# 8u|%# 8x|%# 8o]", (int)0x12c, (int)0x12c, (unsigned int)0x12c, (short)0x12c);
	printf("[%# 8d|%# 8u|%# 8x|%# 8o]", (int)0x0, (int)0x0, (unsigned int)0x0, (short)0x0);
	printf("[%# .5d|%# .5u|%# .5x|%# .5o]", (int)0xffffffd6, (int)0xffffffd6, (unsigned int)0xffffffd6, (short)0xffd6);
	printf("[%# .5d|%# .5u|%# .5x|%# .5o]", (int)0x12c, (int)0x12c, (unsigned int)0x12c, (short)0x12c);
	printf("[%# .5d|%# .5u|%# .5x|%# .5o]", (int)0x0, (int)0x0, (unsigned int)0x0, (short)0x0);
	printf("[%# 8.3d|%# 8.3u|%# 8.3x|%# 8.3o]", (int)0xffffffd6, (int)0xffffffd6, (unsigned int)0xffffffd6, (short)0xffd6);
	printf("[%# 8.3d|%# 8.3u|%# 8.3x|%# 8.3o]", (int)0x12c, (int)0x12c, (unsigned int)0x12c, (short)0x12c);
	printf("[%# 8.3d|%# 8.3u|%# 8.3x|%# 8.3o]", (int)0x0, (int)0x0, (unsigned int)0x0, (short)0x0);
	printf("[%# 3.8d|%# 3.8u|%# 3.8x|%# 3.8o]", (int)0xffffffd6, (int)0xffffffd6, (unsigned int)0xffffffd6, (short)0xffd6);
	printf("[%# 3.8d|%# 3.8u|%# 3.8x|%# 3.8o]", (int)0x12c, (int)0x12c, (unsigned int)0x12c, (short)0x12c);
	printf("[%# 3.8d|%# 3.8u|%# 3.8x|%# 3.8o]", (int)0x0, (int)0x0, (unsigned int)0x0, (short)0x0);
	printf("[%# .0d|%# .0u|%# .0x|%# .0o]", (int)0xffffffd6, (int)0xffffffd6, (unsigned int)0xffffffd6, (short)0xffd6);
	printf("[%# .0d|%# .0u|%# .0x|%# .0o]", (int)0x12c, (int)0x12c, (unsigned int)0x12c, (short)0x12c);
	printf("[%# .0d|%# .0u|%# .0x|%# .0o]", (int)0x0, (int)0x0, (unsigned int)0x0, (short)0x0);
	printf("[%# 8.0d|%# 8.0u|%# 8.0x|%# 8.0o]", (int)0xffffffd6, (int)0xffffffd6, (unsigned int)0xffffffd6, (short)0xffd6);
	printf("[%# 8.0d|%# 8.0u|%# 8.0x|%# 8.0o]", (int)0x12c, (int)0x12c, (unsigned int)0x12c, (short)0x12c);
	printf("[%# 8.0d|%# 8.0u|%# 8.0x|%# 8.0o]", (int)0x0, (int)0x0, (unsigned int)0x0, (short)0x0);
	printf("[%# .d|%# .u|%# .x|%# .o]", (int)0xffffffd6, (int)0xffffffd6, (unsigned int)0xffffffd6, (short)0xffd6);
	printf("[%# .d|%# .u|%# .x|%# .o]", (int)0x12c, (int)0x12c, (unsigned int)0x12c, (short)0x12c);
	printf("[%# .d|%# .u|%# .x|%# .o]", (int)0x0, (int)0x0, (unsigned int)0x0, (short)0x0);
}
BEGIN
{
	printf("[%#0d|%#0u|%#0x|%#0o]", (int)0xffffffd6, (int)0xffffffd6, (unsigned int)0xffffffd6, (short)0xffd6);
	printf("[%#0d|%#0u|%#0x|%#0o]", (int)0x12c, (int)0x12c, (unsigned int)0x12c, (short)0x12c);
	printf("[%#0d|%#0u|%#0x|%#0o]", (int)0x0, (int)0x0, (unsigned int)0x0, (short)0x0);
	printf("[%#08d|%#08u|%#08x|%#08o]", (int)0xffffffd6, (int)0xffffffd6, (unsigned int)0xffffffd6, (short)0xffd6);
	printf("[%#08d|%#08u|%#08x|%#08o]", (int)0x12c, (int)0x12c, (unsigned int)0x12c, (short)0x12c);
	printf("[%#08d|%#08u|%#08x|%#08o]", (int)0x0, (int)0x0, (unsigned int)0x0, (short)0x0);
	printf("[%#0.5d|%#0.5u|%#0.5x|%#0.5o]", (int)0xffffffd6, (int)0xffffffd6, (unsigned int)0xffffffd6, (short)0xffd6);
	printf("[%#0.5d|%#0.5u|%#0.5x|%#0.5o]", (int)0x12c, (int)0x12c, (unsigned int)0x12c, (short)0x12c);
	printf("[%#0.5d|%#0.5u|%#0.5x|%#0.5o]", (int)0x0, (int)0x0, (unsigned int)0x0, (short)0x0);
	printf("[%#08.3d|%#08.3u|%#08.3x|%#08.3o]", (int)0xffffffd6, (int)0xffffffd6, (unsigned int)0xffffffd6, (short)0xffd6);
	printf("[%#08.3d|%#08.3u|%#08.3x|%#08.3o]", (int)0x12c, (int)0x12c, (unsigned int)0x12c, (short)0x12c);
	printf("[%#08.3d|%#08.3u|%#08.3x|%#08.3o]", (int)0x0, (int)0x0, (unsigned int)0x0, (short)0x0);
	printf("[%#03.8d|%#03.8u|%#03.8x|%#03.8o]", (int)0xffffffd6, (int)0xffffffd6, (unsigned int)0xffffffd6, (short)0xffd6);
	printf("[%#03.8d|%#03.8u|%#03.8x|%#03.8o]", (int)0x12c, (int)0x12c, (unsigned int)0x12c, (short)0x12c);
	printf("[%#03.8d|%#03.8u|%#03.8x|%#03.8o]", (int)0x0, (int)0x0, (unsigned int)0x0, (short)0x0);
	printf("[%#0.0d|%#0.0u|%#0.0x|%#0.0o]", (int)0xffffffd6, (int)0xffffffd6, (unsigned int)0xffffffd6, (short)0xffd6);
	printf("[%#0.0d|%#0.0u|%#0.0x|%#0.0o]", (int)0x12c, (int)0x12c, (unsigned int)0x12c, (short)0x12c);
	printf("[%#0.0d|%#0.0u|%#0.0x|%#0.0o]", (int)0x0, (int)0x0, (unsigned int)0x0, (short)0x0);
	printf("[%#08.0d|%#08.0u|%#08.0x|%#08.0o]", (int)0xffffffd6, (int)0xffffffd6, (unsigned int)0xffffffd6, (short)0xffd6);
	printf("[%#08.0d|%#08.0u|%#08.0x|%#08.0o]", (int)0x12c, (int)0x12c, (unsigned int)0x12c, (short)0x12c);
	printf("[%#08.0d|%#08.0u|%#08.0x|%#08.0o]", (int)0x0, (int)0x0, (unsigned int)0x0, (short)0x0);
	printf("[%#0.d|%#0.u|%#0.x|%#0.o]", (int)0xffffffd6, (int)0xffffffd6, (unsigned int)0xffffffd6, (short)0xffd6);
	printf("[%#0.d|%#0.u|%#0.x|%#0.o]", (int)0x12c, (int)0x12c, (unsigned int)0x12c, (short)0x12c);
	printf("[%#0.d|%#0.u|%#0.x|%#0.o]", (int)0x0, (int)0x0, (unsigned int)0x0, (short)0x0);
}
BEGIN
{
	printf("[%\077d|%\077u|%\077x|%\077o]", (int)0xffffffd6, (int)0xffffffd6, (unsigned int)0xffffffd6, (short)0xffd6);
	printf("[%\077d|%\077u|%\077x|%\077o]", (int)0x12c, (int)0x12c, (unsigned int)0x12c, (short)0x12c);
	printf("[%\077d|%\077u|%\077x|%\077o]", (int)0x0, (int)0x0, (unsigned int)0x0, (short)0x0);
	printf("[%\0778d|%\0778u|%\0778x|%\0778o]", (int)0xffffffd6, (int)0xffffffd6, (unsigned int)0xffffffd6, (short)0xffd6);
	printf("[%\0778d|%\0778u|%\0778x|%\0778o]", (int)0x12c, (int)0x12c, (unsigned int)0x12c, (short)0x12c);
	printf("[%\0778d|%\0778u|%\0778x|%\0778o]", (int)0x0, (int)0x0, (unsigned int)0x0, (short)0x0);
	printf("[%\077.5d|%\077.5u|%\077.5x|%\077.5o]", (int)0xffffffd6, (int)0xffffffd6, (unsigned int)0xffffffd6, (short)0xffd6);
	printf("[%\077.5d|%\077.5u|%\077.5x|%\077.5o]", (int)0x12c, (int)0x12c, (unsigned int)0x12c, (short)0x12c);
	printf("[%\077.5d|%\077.5u|%\077.5x|%\077.5o]", (int)0x0, (int)0x0, (unsigned int)0x0, (short)0x0);
	printf("[%\0778.3d|%\0778.3u|%\0778.3x|%\0778.3o]", (int)0xffffffd6, (int)0xffffffd6, (unsigned int)0xffffffd6, (short)0xffd6);
	printf("[%\0778.3d|%\0778.3u|%\0778.3x|%\0778.3o]", (int)0x12c, (int)0x12c, (unsigned int)0x12c, (short)0x12c);
	printf("[%\0778.3d|%\0778.3u|%\0778.3x|%\0778.3o]", (int)0x0, (int)0x0, (unsigned int)0x0, (short)0x0);
	printf("[%\0773.8d|%\0773.8u|%\0773.8x|%\0773.8o]", (int)0xffffffd6, (int)0xffffffd6, (unsigned int)0xffffffd6, (short)0xffd6);
	printf("[%\0773.8d|%\0773.8u|%\0773.8x|%\0773.8o]", (int)0x12c, (int)0x12c, (unsigned int)0x12c, (short)0x12c);
	printf("[%\0773.8d|%\0773.8u|%\0773.8x|%\0773.8o]", (int)0x0, (int)0x0, (unsigned int)0x0, (short)0x0);
	printf("[%\077.0d|%\077.0u|%\077.0x|%\077.0o]", (int)0xffffffd6, (int)0xffffffd6, (unsigned int)0xffffffd6, (short)0xffd6);
	printf("[%\077.0d|%\077.0u|%\077.0x|%\077.0o]", (int)0x12c, (int)0x12c, (unsigned int)0x12c, (short)0x12c);
	printf("[%\077.0d|%\077.0u|%\077.0x|%\077.0o]", (int)0x0, (int)0x0, (unsigned int)0x0, (short)0x0);
	printf("[%\0778.0d|%\0778.0u|%\0778.0x|%\0778.0o]", (int)0xffffffd6, (int)0xffffffd6, (unsigned int)0xffffffd6, (short)0xffd6);
	printf("[%\0778.0d|%\0778.0u|%\0778.0x|%\0778.0o]", (int)0x12c, (int)0x12c, (unsigned int)0x12c, (short)0x12c);
	printf("[%\0778.0d|%\0778.0u|%\0778.0x|%\0778.0o]", (int)0x0, (int)0x0, (unsigned int)0x0, (short)0x0);
	printf("[%\077.d|%\077.u|%\077.x|%\077.o]", (int)0xffffffd6, (int)0xffffffd6, (unsigned int)0xffffffd6, (short)0xffd6);
	printf("[%\077.d|%\077.u|%\077.x|%\077.o]", (int)0x12c, (int)0x12c, (unsigned int)0x12c, (short)0x12c);
	printf("[%\077.d|%\077.u|%\077.x|%\077.o]", (int)0x0, (int)0x0, (unsigned int)0x0, (short)0x0);
}
BEGIN
{
	printf("[%-+ #d|%-+ #u|%-+ #x|%-+ #o]", (int)0xffffffd6, (int)0xffffffd6, (unsigned int)0xffffffd6, (short)0xffd6);
	printf("[%-+ #d|%-+ #u|%-+ #x|%-+ #o]", (int)0x12c, (int)0x12c, (unsigned int)0x12c, (short)0x12c);
	printf("[%-+ #d|%-+ #u|%-+ #x|%-+ #o]", (int)0x0, (int)0x0, (unsigned int)0x0, (short)0x0);
	printf("[%-+ #8d|%-+ #8u|%-+ #8x|%-+ #8o]", (int)0xffffffd6, (int)0xffffffd6, (unsigned int)0xffffffd6, (short)0xffd6);
	printf("[%-+ #8d|%-+ #8u|%-+ #8x|%-+ #8o]", (int)0x12c, (int)0x12c, (unsigned int)0x12c, (short)0x12c);
	printf("[%-+ #8d|%-+ #8u|%-+ #8x|%-+ #8o]", (int)0x0, (int)0x0, (unsigned int)0x0, (short)0x0);
	printf("[%-+ #.5d|%-+ #.5u|%-+ #.5x|%-+ #.5o]", (int)0xffffffd6, (int)0xffffffd6, (unsigned int)0xffffffd6, (short)0xffd6);
	printf("[%-+ #.5d|%-+ #.5u|%-+ #.5x|%-+ #.5o]", (int)0x12c, (int)0x12c, (unsigned int)0x12c, (short)0x12c);
	printf("[%-+ #.5d|%-+ #.5u|%-+ #.5x|%-+ #.5o]", (int)0x0, (int)0x0, (unsigned int)0x0, (short)0x0);
	printf("[%-+ #8.3d|%-+ #8.3u|%-+ #8.3x|%-+ #8.3o]", (int)0xffffffd6, (int)0xffffffd6, (unsigned int)0xffffffd6, (short)0xffd6);
	printf("[%-+ #8.3d|%-+ #8.3u|%-+ #8.3x|%-+ #8.3o]", (int)0x12c, (int)0x12c, (unsigned int)0x12c, (short)0x12c);
	printf("[%-+ #8.3d|%-+ #8.3u|%-+ #8.3x|%-+ #8.3o]", (int)0x0, (int)0x0, (unsigned int)0x0, (short)0x0);
	printf("[%-+ #3.8d|%-+ #3.8u|%-+ #3.8x|%-+ #3.8o]", (int)0xffffffd6, (int)0xffffffd6, (unsigned int)0xffffffd6, (short)0xffd6);
	printf("[%-+ #3.8d|%-+ #3.8u|%-+ #3.8x|%-+ #3.8o]", (int)0x12c, (int)0x12c, (unsigned int)0x12c, (short)0x12c);
	printf("[%-+ #3.8d|%-+ #3.8u|%-+ #3.8x|%-+ #3.8o]", (int)0x0, (int)0x0, (unsigned int)0x0, (short)0x0);
	printf("[%-+ #.0d|%-+ #.0u|%-+ #.0x|%-+ #.0o]", (int)0xffffffd6, (int)0xffffffd6, (unsigned int)0xffffffd6, (short)0xffd6);
	printf("[%-+ #.0d|%-+ #.0u|%-+ #.0x|%-+ #.0o]", (int)0x12c, (int)0x12c, (unsigned int)0x12c, (short)0x12c);
	printf("[%-+ #.0d|%-+ #.0u|%-+ #.0x|%-+ #.0o]", (int)0x0, (int)0x0, (unsigned int)0x0, (short)0x0);
	printf("[%-+ #8.0d|%-+ #8.0u|%-+ #8.0x|%-+ #8.0o]", (int)0xffffffd6, (int)0xffffffd6, (unsigned int)0xffffffd6, (short)0xffd6);
	printf("[%-+ #8.0d|%-+ #8.0u|%-+ #8.0x|%-+ #8.0o]", (int)0x12c, (int)0x12c, (unsigned int)0x12c, (short)0x12c);
	printf("[%-+ #8.0d|%-+ #8.0u|%-+ #8.0x|%-+ #8.0o]", (int)0x0, (int)0x0, (unsigned int)0x0, (short)0x0);
	printf("[%-+ #.d|%-+ #.u|%-+ #.x|%-+ #.o]", (int)0xffffffd6, (int)0xffffffd6, (unsigned int)0xffffffd6, (short)0xffd6);
	printf("[%-+ #.d|%-+ #.u|%-+ #.x|%-+ #.o]", (int)0x12c, (int)0x12c, (unsigned int)0x12c, (short)0x12c);
	printf("[%-+ #.d|%-+ #.u|%-+ #.x|%-+ #.o]", (int)0x0, (int)0x0, (unsigned int)0x0, (short)0x0);
}
BEGIN
{
	exit(0);
}
