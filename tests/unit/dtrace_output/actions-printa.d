BEGIN { @a["x",1]=sum(5); @a["y",2]=sum(3); @a["z",3]=sum(9); @b["y",2]=count(); @b["w",0]=count(); @c["y",2]=quantize(4); @d["y",2] = avg(-7); @n=count(); @n2=sum(5); @n3=quantize(3);
 exit(0); }
END { printa(@a); printa(@a,@b); printa("<%s %d %@d>\n", @a); printa("<%5s %3d %@5d %@u>\n", @a,@b); printa("%@d|\n", @n); printa("n %@x %@d %@d\n", @n, @n2,@n3);
 printa("<%s %@d>\n", @a); printa("no conv\n", @a); printa(@a,@c); printa("%s %d %@d %@d\n", @a, @c, @d); printa("%@-10d|%@10d|%@08d|\n", @n2, @n2,@n2); printa("[%@d][%@d]\n", @n2); printa(@n,@n2,@n3); }
