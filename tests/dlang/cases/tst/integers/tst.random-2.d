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
	v0 = -122 - 1;
	v1 = 8;
	v2 = -29582 - 1;
	v3 = 65535;
	v4 = 0;
	v5 = 128;
	v6 = 9127809872911987993;
	v7 = 256;
	v8 = 1;
	v9 = 100;
	v10 = 17574;
	v11 = 8;
	v12 = 0;
	v13 = 65535;
	v14 = 65535;
	v15 = 256;
}
BEGIN { printf("%d\n", (long)(~ 127)); }
BEGIN { printf("%d\n", (long)((unsigned long)(+ 4294967296))); }
BEGIN { printf("%d\n", (long)((!((unsigned long)v14)) || (((int)32767) & (65535 ? v13 : ((unsigned int)v6))))); }
BEGIN { printf("%d\n", (long)((!((63 >> v3) / ((v6 % ((1 & 127) | 1)) | 1))) >> (- v7))); }
BEGIN { printf("%d\n", (long)(v0 - v4)); }
BEGIN { printf("%d\n", (long)((v7 >> v1) * 4294967296)); }
BEGIN { printf("%d\n", (long)(((~ 4294967295) << (v10 >= 0)) & ((short)(!v10)))); }
BEGIN { printf("%d\n", (long)(((- (v3 * v7)) && ((v14 ? v2 : ((short)v11)) ? (7 << v13) : (v3 <= v7))) ? ((((unsigned short)255) && (v13 >> 2147483647)) ^ ((64 <= 127) ^ ((long)v9))) : ((long)(- (((unsigned char)v0) ^ ((unsigned char)v15)))))); }
BEGIN { printf("%d\n", (long)(7 && 128)); }
BEGIN { printf("%d\n", (long)(4294967296 - (v15 - 9223372036854775807))); }
BEGIN { printf("%d\n", (long)(((4611686018427387904 && v7) ^ (v2 ^^ v3)) ^ v4)); }
BEGIN { printf("%d\n", (long)((unsigned char)(+ 128))); }
BEGIN { printf("%d\n", (long)(+ v5)); }
BEGIN { printf("%d\n", (long)((v10 ? v8 : ((char)v5)) << (~ 127))); }
BEGIN { printf("%d\n", (long)((+ (~ v15)) > ((v2 ^^ 32) | (4294967296 | 100)))); }
BEGIN { printf("%d\n", (long)(~ (!2147483647))); }
BEGIN { printf("%d\n", (long)((unsigned char)v6)); }
BEGIN { printf("%d\n", (long)((unsigned short)(255 < v5))); }
BEGIN { printf("%d\n", (long)(((unsigned char)(v14 != v2)) - ((v15 > v14) | (v0 % ((v12 & 127) | 1))))); }
BEGIN { printf("%d\n", (long)((((128 % ((v2 & 127) | 1)) % (((v4 >> 4294967296) & 127) | 1)) << v14) % (((((v14 & v15) | (256 * 31)) < ((v4 != 32) - (v10 && v10))) & 127) | 1))); }
BEGIN { printf("%d\n", (long)(+ 9223372036854775807)); }
BEGIN { printf("%d\n", (long)((v11 * v2) <= (v0 | v5))); }
BEGIN { printf("%d\n", (long)((long)v12)); }
BEGIN { printf("%d\n", (long)((v6 ^ ((4294967295 / (v11 | 1)) & (v2 > v8))) > ((+ (v15 + v10)) <= ((9223372036854775807 || v13) <= (v4 <= v5))))); }
BEGIN { printf("%d\n", (long)v0); }
BEGIN { printf("%d\n", (long)(- (v14 - v15))); }
BEGIN { printf("%d\n", (long)(2147483648 ^^ v0)); }
BEGIN { printf("%d\n", (long)((v7 ^ ((128 != 9223372036854775807) + (!65535))) ^^ (!((v12 * v9) | (v15 || 32))))); }
BEGIN { printf("%d\n", (long)(0 << 31)); }
BEGIN { printf("%d\n", (long)((32767 == v7) + (3 < v5))); }
BEGIN { printf("%d\n", (long)(((65535 % ((v13 & 127) | 1)) ? (- v3) : ((unsigned short)(- v10))) ^ (+ ((unsigned short)v4)))); }
BEGIN { printf("%d\n", (long)(!(((100 || v5) >= (v4 || 64)) != (0 == (v10 & 2))))); }
BEGIN { printf("%d\n", (long)((char)v4)); }
BEGIN { printf("%d\n", (long)((4294967296 || v15) | ((short)v7))); }
BEGIN { printf("%d\n", (long)(~ (+ (v7 ^^ v12)))); }
BEGIN { printf("%d\n", (long)((((!v0) + 128) && ((v14 || 32) & (v4 + v7))) ^ (((- v4) << v8) == ((unsigned int)(- 3))))); }
BEGIN { printf("%d\n", (long)(64 % ((v4 & 127) | 1))); }
BEGIN { printf("%d\n", (long)v0); }
BEGIN { printf("%d\n", (long)(((v7 && 8) - (64 & v1)) ? (((unsigned char)2) >= (v12 <= v8)) : ((v4 && v4) << (v14 >> 4294967295)))); }
BEGIN { printf("%d\n", (long)(!(((short)7) >> ((v8 >= 127) == (4294967295 ? 255 : ((int)v0)))))); }
BEGIN { printf("%d\n", (long)(32 == v14)); }
BEGIN { printf("%d\n", (long)((unsigned long)(v9 << 127))); }
BEGIN { printf("%d\n", (long)(((v12 ^^ v11) && (v5 > v15)) >= (- ((long)v8)))); }
BEGIN { printf("%d\n", (long)(~ (((unsigned int)(v10 | 65535)) - ((v9 + v1) / (v0 | 1))))); }
BEGIN { printf("%d\n", (long)(v10 >= v9)); }
BEGIN { printf("%d\n", (long)((v6 == v7) >> (2147483648 * 4294967295))); }
BEGIN { printf("%d\n", (long)(((127 | 4611686018427387904) / ((- 4294967295) | 1)) >= 31)); }
BEGIN { printf("%d\n", (long)(31 >> (((v2 || 8) - ((unsigned long)4294967296)) >> v15))); }
BEGIN { printf("%d\n", (long)((int)v0)); }
BEGIN { printf("%d\n", (long)((v6 >> 9223372036854775807) <= (!v7))); }
BEGIN { printf("%d\n", (long)((((char)v8) >= (+ 9223372036854775807)) % ((((0 << v4) | ((char)v15)) & 127) | 1))); }
BEGIN { printf("%d\n", (long)(~ (((2147483647 * 2147483648) - (v7 ? 2 : ((int)4611686018427387904))) * ((127 ^ 65535) + (v12 < v7))))); }
BEGIN { printf("%d\n", (long)(v5 <= v2)); }
BEGIN { printf("%d\n", (long)((+ v3) << (v3 - 63))); }
BEGIN { printf("%d\n", (long)(((!v4) * (v3 && v3)) | (((unsigned int)8) + (v9 % ((v13 & 127) | 1))))); }
BEGIN { printf("%d\n", (long)((long)((!(v10 ^^ v0)) ? ((v8 << v6) >> (255 / (v6 | 1))) : ((char)((short)(v2 ^ 4611686018427387904)))))); }
BEGIN { printf("%d\n", (long)((char)v1)); }
BEGIN { printf("%d\n", (long)((31 | v7) == (8 % ((v12 & 127) | 1)))); }
BEGIN { printf("%d\n", (long)(- ((+ v10) & (v14 & v8)))); }
BEGIN { printf("%d\n", (long)v13); }
BEGIN { printf("%d\n", (long)(v9 ^ v5)); }
BEGIN { printf("%d\n", (long)((v6 < 4294967296) - (4294967295 && 100))); }
BEGIN { printf("%d\n", (long)(v0 / ((v11 - (v7 * v5)) | 1))); }
BEGIN { printf("%d\n", (long)(+ (((0 * v3) / ((v2 == 31) | 1)) <= ((v12 * v2) >= (v11 ? v9 : ((unsigned char)1)))))); }
BEGIN { printf("%d\n", (long)(65535 ? 4294967295 : ((unsigned int)v9))); }
BEGIN { printf("%d\n", (long)((!8) && (2 >> v4))); }
BEGIN { printf("%d\n", (long)(((v13 & v8) > (1 + v6)) / ((!(- v2)) | 1))); }
BEGIN { printf("%d\n", (long)v3); }
BEGIN { printf("%d\n", (long)((long)0)); }
BEGIN { printf("%d\n", (long)(- ((unsigned short)2))); }
BEGIN { printf("%d\n", (long)(((v0 >> 4611686018427387904) * (v0 || 32)) << ((- v6) - 63))); }
BEGIN { printf("%d\n", (long)((((v10 <= 1) >= (255 / (v1 | 1))) != (!(v13 ^ 4611686018427387904))) ? (!(- (v13 * v1))) : ((int)(v8 + ((short)(2147483648 - 8)))))); }
BEGIN { printf("%d\n", (long)(63 + v7)); }
BEGIN { printf("%d\n", (long)((~ 0) ^ v6)); }
BEGIN { printf("%d\n", (long)(((3 > v0) ^^ (!4294967295)) ^ (!(v7 > v10)))); }
BEGIN { printf("%d\n", (long)((32767 & ((v7 & v8) + (+ v6))) / (((- (v8 >> v0)) + ((2 / (2147483648 | 1)) * ((unsigned int)v10))) | 1))); }
BEGIN { printf("%d\n", (long)(v15 * v8)); }
BEGIN { printf("%d\n", (long)((v2 && 65535) >> (4611686018427387904 ^ v13))); }
BEGIN { printf("%d\n", (long)(((v13 ^^ 31) ? (63 * 64) : ((int)(64 ? v7 : ((unsigned long)255)))) == ((0 * v6) | (!v10)))); }
BEGIN { printf("%d\n", (long)(v3 < (((v6 | v4) ? (v8 || 32) : (31 ^ 128)) / (v9 | 1)))); }
BEGIN { printf("%d\n", (long)(v3 && 8)); }
BEGIN { printf("%d\n", (long)(!(v8 - v10))); }
BEGIN { printf("%d\n", (long)(((v4 ^^ v0) ^ (!v7)) / ((((unsigned int)4611686018427387904) == (9223372036854775807 > 65535)) | 1))); }
BEGIN { printf("%d\n", (long)((((4294967296 >> v0) * (~ v6)) << ((255 >> v0) & (0 || v5))) >= (((v3 | v12) - (4294967296 >= 2)) - ((127 & 8) != (v2 == v4))))); }
BEGIN { printf("%d\n", (long)(v13 / (64 | 1))); }
BEGIN { printf("%d\n", (long)((64 || v3) + ((long)v1))); }
BEGIN { printf("%d\n", (long)(((v1 ^ 4611686018427387904) ? (v10 & v14) : ((long)(65535 * 31))) ? ((v14 - v12) / ((v4 | v9) | 1)) : ((long)((- v7) * (v1 ^^ v9))))); }
BEGIN { printf("%d\n", (long)((v9 ? ((v15 <= 0) < (v15 | v14)) : ((v14 > 100) ? (v9 == v15) : (255 + 100))) >= 31)); }
BEGIN { printf("%d\n", (long)(7 & v3)); }
BEGIN { printf("%d\n", (long)(64 / ((~ v2) | 1))); }
BEGIN { printf("%d\n", (long)(((char)(100 % ((v14 & 127) | 1))) > (((unsigned char)v15) % (((+ v9) & 127) | 1)))); }
BEGIN { printf("%d\n", (long)((((7 + v3) == (v8 != v1)) ? (((unsigned long)v3) - (128 == 4294967296)) : ((unsigned long)(!(v15 * 32)))) > (((v14 * v9) <= (- v7)) >= ((v0 && v11) < (v7 & v14))))); }
BEGIN { printf("%d\n", (long)256); }
BEGIN { printf("%d\n", (long)((!v4) >> ((long)v8))); }
BEGIN { printf("%d\n", (long)(((v12 * v15) == 63) << ((!63) <= ((unsigned char)4294967295)))); }
BEGIN { printf("%d\n", (long)((((64 ? 256 : ((int)v11)) / ((32767 << v6) | 1)) + ((v12 << v12) >= (~ v9))) ? v8 : ((char)((((long)255) % (((+ v15) & 127) | 1)) + ((short)((char)3)))))); }
BEGIN { printf("%d\n", (long)(v6 | 255)); }
BEGIN { printf("%d\n", (long)v6); }
BEGIN { printf("%d\n", (long)2); }
BEGIN { printf("%d\n", (long)((((v0 ? v1 : ((unsigned char)v12)) && (31 * 128)) & ((v4 & v6) | (v11 ? v1 : ((unsigned char)3)))) >> ((- (v8 ^ v6)) || ((short)(63 | 9223372036854775807))))); }
BEGIN { printf("%d\n", (long)(+ v10)); }
BEGIN { printf("%d\n", (long)v9); }
BEGIN { printf("%d\n", (long)(((v14 && 3) == (4294967296 > 32767)) ? 64 : ((int)((char)(v6 <= 65535))))); }
BEGIN { printf("%d\n", (long)(v7 & ((int)((v13 | 8) * (63 ? 128 : 128))))); }
BEGIN { printf("%d\n", (long)(!2147483648)); }
BEGIN { printf("%d\n", (long)(v5 + (127 & 0))); }
BEGIN { printf("%d\n", (long)(((v15 >> 4294967296) * (v14 + 2)) / (((v3 % ((2147483648 & 127) | 1)) - ((unsigned int)v10)) | 1))); }
BEGIN { printf("%d\n", (long)((((!4294967296) * ((unsigned int)64)) >> ((4611686018427387904 % ((v8 & 127) | 1)) == ((unsigned long)v12))) * (+ ((v7 <= v2) % (((v15 * v2) & 127) | 1))))); }
BEGIN { printf("%d\n", (long)((unsigned int)2)); }
BEGIN { printf("%d\n", (long)((4294967296 && v7) && (0 ^ 65535))); }
BEGIN { printf("%d\n", (long)(((9223372036854775807 | v4) + (v7 / (v11 | 1))) >> ((v13 & v15) < (- v13)))); }
BEGIN { printf("%d\n", (long)(((unsigned short)((~ 100) || (v11 & v13))) >> (!((v5 / (v12 | 1)) | (+ v6))))); }
BEGIN { printf("%d\n", (long)(32 / (64 | 1))); }
BEGIN { printf("%d\n", (long)((+ 2147483647) < v11)); }
BEGIN { printf("%d\n", (long)(((2147483647 / (32767 | 1)) ? (v7 | 7) : ((unsigned long)(v8 >= 32))) >> (v11 - (256 * v13)))); }
BEGIN { printf("%d\n", (long)8); }
BEGIN { printf("%d\n", (long)(65535 - 2147483647)); }
BEGIN { printf("%d\n", (long)((v5 | 3) ^ (v15 % ((7 & 127) | 1)))); }
BEGIN { printf("%d\n", (long)(((v13 << v15) / ((!v7) | 1)) ^ ((v14 & 4294967295) | (8 != v12)))); }
BEGIN { printf("%d\n", (long)((int)(((v8 ? v3 : ((unsigned short)v7)) < (~ v12)) - ((v11 ^^ v3) || (v2 << 63))))); }
BEGIN { exit(0); }
