/* program: events.py
 * options: -q */
pyusdt$target:::user_trace-i4s4
/copyinstr(arg1) == "blue" && copyinstr(arg7) != "odd"/
{
	this->item = copyinstr(arg6);
	last = copyinstr(arg9);
	printf("[%s] [%10s] [%-10s] [%s] %d\n", this->item, this->item, this->item, copyinstr(arg8), this->item > "item 3");
}
END { printf("last [%s]\n", last); }
