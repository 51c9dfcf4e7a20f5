typedef int size;
typedef char size;
BEGIN { }
