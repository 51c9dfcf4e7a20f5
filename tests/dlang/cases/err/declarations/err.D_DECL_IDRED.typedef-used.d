typedef int number;
int number;
BEGIN { }
