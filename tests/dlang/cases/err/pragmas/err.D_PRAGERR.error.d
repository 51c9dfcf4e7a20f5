#error not for this machine
BEGIN { }
