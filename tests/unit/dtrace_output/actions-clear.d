#pragma D option quiet
BEGIN { @mn["a"]=min(5); @mx["a"]=max(5); @av["a"]=avg(5); @sd["a"]=stddev(5); @q["a"]=quantize(5); @l["a"]=lquantize(5,0,10); @ll["a"]=llquantize(500,10,1,3,10);
 @c["a"]=count(); @s["a"]=sum(5); @u=count(); @umin=min(3);
 @nq=quantize(-5,-3); @nl=lquantize(5,0,10,1,-3);@nll=llquantize(500,10,1,3,10,-2);
 @z=lquantize(5,0,10,1,0); @zz=llquantize(5,10,0,3,10,0);
 clear(@mn); clear(@mx); clear(@av);clear(@sd);clear(@q);clear(@l);clear(@ll);clear(@c);clear(@s);clear(@u);clear(@umin); exit(0); }
END { printf("min"); printa(@mn); printf("max"); printa(@mx); printf("avg"); printa(@av); printa(@sd); printa(@q); printa(@l); printa(@ll); printa(@c); printa(@s); printa(@u); printa(@umin); printa(@nq); printa(@nl); printa(@nll); printa(@z); printa(@zz); }
