/* Random expressions, made by record_cases.py. */
#pragma D option quiet
char v0;
unsigned char v1;
short v2;
unsigned short v3;
int v4;
unsigned int v5;
long v6;
unsigned long v7;
char v8;
unsigned char v9;
short v10;
unsigned short v11;
int v12;
unsigned int v13;
long v14;
unsigned long v15;
BEGIN {
	v0 = 0;
	v1 = 158;
	v2 = 1;
	v3 = 1604;
	v4 = 1;
	v5 = 2045921456;
	v6 = -6 - 1;
	v7 = 65535;
	v8 = 0;
	v9 = 255;
	v10 = 0;
	v11 = 65535;
	v12 = 1626988600;
	v13 = 1696354899;
	v14 = 8561018580560424818;
	v15 = 661991620512760860;
}
BEGIN { printf("%d\n", (long)(64 | v12)); }
BEGIN { printf("%d\n", (long)(((char)4294967295) && (2147483647 & v6))); }
BEGIN { printf("%d\n", (long)(((v2 ? v4 : ((int)v13)) ^ ((char)1)) ? ((v1 ? v2 : ((short)v1)) ^^ (v8 ? v1 : ((unsigned char)100))) : ((int)((128 ^ 4294967295) ? (v7 << 255) : ((unsigned long)(v13 ^^ 100)))))); }
BEGIN { printf("%d\n", (long)4294967296); }
BEGIN { printf("%d\n", (long)(v11 != 63)); }
BEGIN { printf("%d\n", (long)((v14 & v10) + (63 & v12))); }
BEGIN { printf("%d\n", (long)(!(- (v5 % ((4294967296 & 127) | 1))))); }
BEGIN { printf("%d\n", (long)((- ((short)31)) & ((((short)100) / ((v13 != v8) | 1)) >= ((v0 | v13) == (1 ? 4611686018427387904 : ((long)64)))))); }
BEGIN { printf("%d\n", (long)((unsigned char)64)); }
BEGIN { printf("%d\n", (long)((- 255) + (v9 - v0))); }
BEGIN { printf("%d\n", (long)(((!v6) << ((unsigned char)v8)) >> (!(1 >> 32)))); }
BEGIN { printf("%d\n", (long)(v0 && (- ((v5 << v11) + (v6 % ((255 & 127) | 1)))))); }
BEGIN { printf("%d\n", (long)(2147483647 && v11)); }
BEGIN { printf("%d\n", (long)((!255) ^^ 9223372036854775807)); }
BEGIN { printf("%d\n", (long)(((- 32) / (((unsigned int)v8) | 1)) ? (+ ((long)100)) : ((long)((1 >= v3) >> (v3 + v3))))); }
BEGIN { printf("%d\n", (long)((int)(!65535))); }
BEGIN { printf("%d\n", (long)(2147483648 << v10)); }
BEGIN { printf("%d\n", (long)((v12 / (v12 | 1)) - (v7 <= 255))); }
BEGIN { printf("%d\n", (long)(((7 | v15) ^^ ((unsigned long)v5)) ? (- (2147483648 / (64 | 1))) : ((unsigned int)((int)(v12 % ((v11 & 127) | 1)))))); }
BEGIN { printf("%d\n", (long)((+ (2 ^^ (v7 + 4294967296))) > (- ((1 >> 63) / ((v2 * v8) | 1))))); }
BEGIN { printf("%d\n", (long)(v10 & v10)); }
BEGIN { printf("%d\n", (long)((v10 || v8) - v14)); }
BEGIN { printf("%d\n", (long)((unsigned char)(+ (~ 4611686018427387904)))); }
BEGIN { printf("%d\n", (long)(!(~ ((4611686018427387904 < 8) <= (- v14))))); }
BEGIN { printf("%d\n", (long)((short)4294967296)); }
BEGIN { printf("%d\n", (long)((v5 ^ 3) ^^ (+ v12))); }
BEGIN { printf("%d\n", (long)(v15 | ((v2 | v3) << (v3 <= v6)))); }
BEGIN { printf("%d\n", (long)(~ (+ ((unsigned short)(v8 * v9))))); }
BEGIN { printf("%d\n", (long)255); }
BEGIN { printf("%d\n", (long)((4611686018427387904 ^ 4611686018427387904) << (v7 < v14))); }
BEGIN { printf("%d\n", (long)(!(!(v9 ? 7 : ((int)v2))))); }
BEGIN { printf("%d\n", (long)((((unsigned int)(v1 * 100)) || ((v3 / (255 | 1)) - v5)) & (((v14 && 63) ^ (v12 << v0)) <= ((v0 >= v12) & (v5 > v5))))); }
BEGIN { printf("%d\n", (long)v14); }
BEGIN { printf("%d\n", (long)((v7 ^ v12) + (v3 >> v9))); }
BEGIN { printf("%d\n", (long)(!((int)(4294967296 < 100)))); }
BEGIN { printf("%d\n", (long)2); }
BEGIN { printf("%d\n", (long)(0 + v1)); }
BEGIN { printf("%d\n", (long)((v15 ^ 4611686018427387904) << v12)); }
BEGIN { printf("%d\n", (long)v13); }
BEGIN { printf("%d\n", (long)((!((long)(v13 > v14))) & (((0 * 2) && (- v1)) == ((unsigned long)((unsigned int)0))))); }
BEGIN { printf("%d\n", (long)v3); }
BEGIN { printf("%d\n", (long)(32 ^ (7 ? v0 : ((char)v9)))); }
BEGIN { printf("%d\n", (long)(((v2 >= v3) != ((unsigned char)v8)) << v7)); }
BEGIN { printf("%d\n", (long)(- (+ ((v12 >> v0) || (- v6))))); }
BEGIN { printf("%d\n", (long)(127 << v2)); }
BEGIN { printf("%d\n", (long)((v2 / (v10 | 1)) & ((unsigned short)4294967295))); }
BEGIN { printf("%d\n", (long)(~ ((v1 && v0) >> (v1 * 1)))); }
BEGIN { printf("%d\n", (long)(((((unsigned long)v4) - (!v12)) / (((unsigned int)(v7 ^ v9)) | 1)) ^ (((v4 < v5) / ((v11 ^ 1) | 1)) != ((3 + v8) % (((!v8) & 127) | 1))))); }
BEGIN { printf("%d\n", (long)(4611686018427387904 + v7)); }
BEGIN { printf("%d\n", (long)(~ (!v8))); }
BEGIN { printf("%d\n", (long)v15); }
BEGIN { printf("%d\n", (long)((unsigned long)(((2147483648 * v11) > (v4 % ((v4 & 127) | 1))) ^^ (((int)v3) / ((v2 % ((v15 & 127) | 1)) | 1))))); }
BEGIN { printf("%d\n", (long)(31 ? v11 : ((unsigned short)v12))); }
BEGIN { printf("%d\n", (long)((100 ? 2147483648 : ((unsigned int)v4)) + (v6 - 9223372036854775807))); }
BEGIN { printf("%d\n", (long)(- (!v2))); }
BEGIN { printf("%d\n", (long)((v5 << ((short)(7 && v5))) ? ((2147483648 * (!v5)) / (((v2 | 0) * (32 ? v15 : ((unsigned long)v10))) | 1)) : ((unsigned long)(+ (!(v4 ^^ v12)))))); }
BEGIN { printf("%d\n", (long)(v5 > v6)); }
BEGIN { printf("%d\n", (long)(((unsigned char)v5) < (!4611686018427387904))); }
BEGIN { printf("%d\n", (long)(~ v14)); }
BEGIN { printf("%d\n", (long)(((((int)64) != (v10 << 32)) != ((8 ^^ 65535) ? (v13 ? v9 : ((unsigned char)v12)) : ((unsigned char)(v6 ? v15 : ((unsigned long)255))))) >= (((v4 - v0) << (31 > v9)) << ((+ 31) & (- v12))))); }
BEGIN { printf("%d\n", (long)(v6 % ((v5 & 127) | 1))); }
BEGIN { printf("%d\n", (long)((8 ^ v4) + (v9 && v3))); }
BEGIN { printf("%d\n", (long)(- 100)); }
BEGIN { printf("%d\n", (long)v15); }
BEGIN { printf("%d\n", (long)(100 <= 2147483647)); }
BEGIN { printf("%d\n", (long)((v7 << v2) | (!2147483648))); }
BEGIN { printf("%d\n", (long)(((v11 >> 127) >= ((unsigned short)v13)) ^ ((3 - 65535) || (100 * v12)))); }
BEGIN { printf("%d\n", (long)(+ v12)); }
BEGIN { printf("%d\n", (long)(v10 & 31)); }
BEGIN { printf("%d\n", (long)((v11 >= 8) >> (v5 ^^ 256))); }
BEGIN { printf("%d\n", (long)((((unsigned long)v15) > (v5 ? v13 : ((unsigned int)v4))) << ((v14 << v1) << (!v2)))); }
BEGIN { printf("%d\n", (long)((((~ 255) ? (~ v11) : ((unsigned short)(v12 / (100 | 1)))) == ((2147483648 / (v3 | 1)) ^ (v5 >= v3))) ? ((unsigned int)((v3 % ((v13 & 127) | 1)) % (((v6 * 32) & 127) | 1))) : ((unsigned int)(!((unsigned char)(v14 - v3)))))); }
BEGIN { printf("%d\n", (long)(- v15)); }
BEGIN { printf("%d\n", (long)((v13 | 255) != (v1 && v0))); }
BEGIN { printf("%d\n", (long)(+ ((v5 != v2) & (- v10)))); }
BEGIN { printf("%d\n", (long)((((v14 ^^ v14) + (- v13)) - (((unsigned int)v6) << (!v10))) > (((v3 | v7) / ((v7 + v8) | 1)) / ((((unsigned short)v13) ? (!v14) : (7 >> v4)) | 1)))); }
BEGIN { printf("%d\n", (long)(v9 >= v15)); }
BEGIN { printf("%d\n", (long)255); }
BEGIN { printf("%d\n", (long)v0); }
BEGIN { printf("%d\n", (long)v15); }
BEGIN { printf("%d\n", (long)(v15 % ((v9 & 127) | 1))); }
BEGIN { printf("%d\n", (long)(1 >> (- v12))); }
BEGIN { printf("%d\n", (long)(+ ((v2 ? v15 : ((unsigned long)255)) % (((v10 | 0) & 127) | 1)))); }
BEGIN { printf("%d\n", (long)((- ((4294967295 >= v7) || (v5 | v5))) == (((!v12) != (~ v4)) && (v3 >> (v13 ^ 32767))))); }
BEGIN { printf("%d\n", (long)(31 > v3)); }
BEGIN { printf("%d\n", (long)((v9 >> v4) << (v13 * v14))); }
BEGIN { printf("%d\n", (long)(100 << ((v7 | 100) - ((unsigned int)v6)))); }
BEGIN { printf("%d\n", (long)(32 | (+ v6))); }
BEGIN { printf("%d\n", (long)(4294967296 / (v3 | 1))); }
BEGIN { printf("%d\n", (long)((65535 % ((v6 & 127) | 1)) << (v12 <= 4294967296))); }
BEGIN { printf("%d\n", (long)(((v1 * v10) * (v0 & v14)) - ((v6 ^ 128) + (+ v10)))); }
BEGIN { printf("%d\n", (long)(v9 || (((short)(v11 ? v7 : ((unsigned long)0))) ? ((v15 ^^ 256) | ((unsigned char)v2)) : ((1 < 1) - ((unsigned short)v14))))); }
BEGIN { printf("%d\n", (long)(0 != 9223372036854775807)); }
BEGIN { printf("%d\n", (long)((127 > v13) ? (64 % ((v5 & 127) | 1)) : ((unsigned int)(v10 | v11)))); }
BEGIN { printf("%d\n", (long)(~ ((65535 && v6) | (127 < v1)))); }
BEGIN { printf("%d\n", (long)(((+ (!v2)) ^^ (!(2147483648 % ((63 & 127) | 1)))) == v6)); }
BEGIN { printf("%d\n", (long)(v11 >> 65535)); }
BEGIN { printf("%d\n", (long)((8 != 2147483647) ^ (v7 << v1))); }
BEGIN { printf("%d\n", (long)(((v7 & v1) ^ v10) != ((!v12) / ((v12 | 4294967296) | 1)))); }
BEGIN { printf("%d\n", (long)(((!128) + (((char)127) / (((unsigned int)0) | 1))) == (~ ((v11 >> 0) | (v15 % ((65535 & 127) | 1)))))); }
BEGIN { printf("%d\n", (long)((short)128)); }
BEGIN { printf("%d\n", (long)((v3 / (v11 | 1)) ? (9223372036854775807 % ((128 & 127) | 1)) : ((long)(- 65535)))); }
BEGIN { printf("%d\n", (long)100); }
BEGIN { printf("%d\n", (long)(~ (((v7 >> 3) / ((0 >> 2147483647) | 1)) | ((int)(v5 << 32767))))); }
BEGIN { printf("%d\n", (long)(~ v5)); }
BEGIN { printf("%d\n", (long)(0 || (- v13))); }
BEGIN { printf("%d\n", (long)(((v8 / (v3 | 1)) >> (v11 / (v7 | 1))) != ((0 - v7) != (v2 & v14)))); }
BEGIN { printf("%d\n", (long)v10); }
BEGIN { printf("%d\n", (long)(!v7)); }
BEGIN { printf("%d\n", (long)((v5 / (v11 | 1)) - v4)); }
BEGIN { printf("%d\n", (long)(((char)(127 % ((4294967296 & 127) | 1))) ^ ((- 8) < (2147483648 != 0)))); }
BEGIN { printf("%d\n", (long)(((((int)v14) > ((long)v12)) >> ((0 - 8) | (!100))) << (~ 127))); }
BEGIN { printf("%d\n", (long)(v2 & v3)); }
BEGIN { printf("%d\n", (long)v15); }
BEGIN { printf("%d\n", (long)((long)(((unsigned int)v2) % (((128 ^^ v8) & 127) | 1)))); }
BEGIN { printf("%d\n", (long)v15); }
BEGIN { printf("%d\n", (long)(v2 ? 65535 : ((int)v10))); }
BEGIN { printf("%d\n", (long)((7 % ((v0 & 127) | 1)) << (v13 || v12))); }
BEGIN { printf("%d\n", (long)((4294967295 == ((unsigned char)128)) == ((v15 ? v3 : ((unsigned short)v15)) ^ (2147483647 + 4611686018427387904)))); }
BEGIN { printf("%d\n", (long)((- ((v0 + v13) && (3 * 127))) >> ((unsigned int)((v0 || v1) + ((char)v10))))); }
BEGIN { exit(0); }
