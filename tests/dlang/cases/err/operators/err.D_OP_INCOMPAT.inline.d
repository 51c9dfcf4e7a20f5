inline int n = "three";
BEGIN { }
