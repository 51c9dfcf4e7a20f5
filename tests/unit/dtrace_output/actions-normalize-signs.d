/* Divisors are read without their sign, in the size of their type; only averages and deviations in a table divide with signs. */
BEGIN { @a = avg(-9); @s = sum(-5); @b = avg(-100); }
BEGIN { @a = avg(-9); @b = avg(3); }
BEGIN { printa(@a); printa("%@d %@d\n", @a, @b); normalize(@a, 2); normalize(@b, 5); printa("%@d %@d\n", @a, @b); printa(@a, @b); normalize(@a, -1); normalize(@b, (long)-2); printa(@a, @b); printa("%@d %@d\n", @a, @b);}
BEGIN { normalize(@s, (char)-1); printa(@s); normalize(@s, (short)-1); printa(@s); normalize(@s, -1LL); printa(@s); denormalize(@s); printa(@s); }
BEGIN { @nc = count(); @ns = sum(-17); @np = sum(100); @na = avg(-9); @nd = stddev(5); @nmi = min(-40); @nma = max(40); @nq = quantize(5); @nl = lquantize(5,0,10,1); @nc2[1]=sum(7); @nc2[2] = sum(-5);@nll=llquantize(5,10,0,2,10); }
BEGIN { normalize(@nc, -1); printa(@nc); printa("%@d\n", @nc); }
BEGIN { normalize(@ns, -1); printa(@ns); printa("%@d\n", @ns); }
BEGIN { normalize(@np, -1); printa(@np); printa("%@d\n", @np); }
BEGIN { normalize(@na, -1); printa(@na); printa("%@d\n", @na); }
BEGIN { normalize(@nd, -1); printa(@nd); printa("%@d\n", @nd); }
BEGIN { normalize(@nmi, -1); printa(@nmi); printa("%@d\n", @nmi); }
BEGIN { normalize(@nma, -1); printa(@nma); printa("%@d\n", @nma); }
BEGIN { normalize(@nq, -1); printa(@nq); printa("%@d\n", @nq); }
BEGIN { normalize(@nl, -1); printa(@nl); printa("%@d\n", @nl); }
BEGIN { normalize(@nc2, -1); printa(@nc2); printa("%@d\n", @nc2); }
BEGIN { normalize(@nll, -1); printa(@nll); printa("%@d\n", @nll); }
BEGIN { exit(0); }
