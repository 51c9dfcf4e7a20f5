BEGIN
/pid == 1/;
