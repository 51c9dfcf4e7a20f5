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
	v0 = -1 - 1;
	v1 = 0;
	v2 = 128;
	v3 = 0;
	v4 = 1674216077;
	v5 = 2988579416;
	v6 = 32;
	v7 = 100;
	v8 = 0;
	v9 = 128;
	v10 = 255;
	v11 = 256;
	v12 = 1920453494;
	v13 = 256;
	v14 = -396415130233965016 - 1;
	v15 = -6598504268887192395 - 1;
}
BEGIN { printf("%d\n", (long)(v10 == 9223372036854775807)); }
BEGIN { printf("%d\n", (long)(((unsigned short)v15) ? (v12 < v5) : ((int)((unsigned int)v3)))); }
BEGIN { printf("%d\n", (long)((~ 4294967295) && ((2147483648 + 2147483648) * (v8 != 4294967295)))); }
BEGIN { printf("%d\n", (long)((((v13 << v11) ? (4294967295 << v0) : ((unsigned int)(v2 ^^ 63))) ^^ 2) << v0)); }
BEGIN { printf("%d\n", (long)(v5 % ((v2 & 127) | 1))); }
BEGIN { printf("%d\n", (long)((v10 == v3) * v13)); }
BEGIN { printf("%d\n", (long)(((v12 + v5) >= (v7 && 4294967296)) % ((((4611686018427387904 >> 1) >= (64 / (v2 | 1))) & 127) | 1))); }
BEGIN { printf("%d\n", (long)((short)(((unsigned short)(9223372036854775807 > 1)) + (((unsigned short)v12) / ((128 != 0) | 1))))); }
BEGIN { printf("%d\n", (long)((short)v6)); }
BEGIN { printf("%d\n", (long)((v7 << v1) | v6)); }
BEGIN { printf("%d\n", (long)(((9223372036854775807 >> 7) & (~ v2)) << ((128 - v7) ? (v9 ? v3 : ((unsigned short)v8)) : ((unsigned short)(v0 % ((v3 & 127) | 1)))))); }
BEGIN { printf("%d\n", (long)(!(!((v12 - 2147483648) ^ (100 % ((v10 & 127) | 1)))))); }
BEGIN { printf("%d\n", (long)v9); }
BEGIN { printf("%d\n", (long)((256 & v6) | (!9223372036854775807))); }
BEGIN { printf("%d\n", (long)(((!v14) / (v10 | 1)) * (v9 % (((v2 >> v0) & 127) | 1)))); }
BEGIN { printf("%d\n", (long)((v11 - ((short)(~ v5))) % ((((((int)v6) - ((char)4294967295)) * ((unsigned short)(v7 * v2))) & 127) | 1))); }
BEGIN { printf("%d\n", (long)(v14 && 256)); }
BEGIN { printf("%d\n", (long)8); }
BEGIN { printf("%d\n", (long)(((v8 > v12) & (v10 ^ v14)) | ((9223372036854775807 || v8) >= (4294967296 - 8)))); }
BEGIN { printf("%d\n", (long)(!((((long)v8) ^ ((char)v12)) % ((((v2 < 4294967296) << (- 7)) & 127) | 1)))); }
BEGIN { printf("%d\n", (long)(v7 <= 128)); }
BEGIN { printf("%d\n", (long)((long)(32767 * 3))); }
BEGIN { printf("%d\n", (long)(((v0 / (v7 | 1)) | (v6 % ((v8 & 127) | 1))) <= ((2147483647 <= 31) > (v0 + v4)))); }
BEGIN { printf("%d\n", (long)v9); }
BEGIN { printf("%d\n", (long)(+ v3)); }
BEGIN { printf("%d\n", (long)((v12 >> v0) == (v14 ^^ 65535))); }
BEGIN { printf("%d\n", (long)(~ ((v12 && v2) ^^ (+ 64)))); }
BEGIN { printf("%d\n", (long)(((int)(+ 9223372036854775807)) * (~ (!(v3 < 255))))); }
BEGIN { printf("%d\n", (long)v14); }
BEGIN { printf("%d\n", (long)v5); }
BEGIN { printf("%d\n", (long)(((v11 - v1) / ((v7 ^^ v12) | 1)) % (((!(v7 / 3)) & 127) | 1))); }
BEGIN { printf("%d\n", (long)((long)(((63 > v5) * (v12 ^ v6)) / (((1 - v0) - (v14 + v8)) | 1)))); }
BEGIN { printf("%d\n", (long)(- v7)); }
BEGIN { printf("%d\n", (long)((v12 % ((v8 & 127) | 1)) * (1 >= v0))); }
BEGIN { printf("%d\n", (long)((((short)0) / (v1 | 1)) | (((char)v1) - (255 % ((v0 & 127) | 1))))); }
BEGIN { printf("%d\n", (long)(((unsigned long)((v5 + v1) == (v13 ^^ 2))) % (((+ ((1 / (v2 | 1)) * (v10 ^^ v1))) & 127) | 1))); }
BEGIN { printf("%d\n", (long)(256 | v8)); }
BEGIN { printf("%d\n", (long)2); }
BEGIN { printf("%d\n", (long)((char)((64 - v7) * (v12 & 2147483647)))); }
BEGIN { printf("%d\n", (long)((((int)(v3 | v4)) ^^ ((v0 & v4) << (~ v14))) ^ ((((char)v15) ? (9223372036854775807 ? v10 : ((short)v11)) : ((short)(v5 != v8))) != ((v3 >> 4611686018427387904) <= (v2 % ((31 & 127) | 1)))))); }
BEGIN { printf("%d\n", (long)(v11 | 32767)); }
BEGIN { printf("%d\n", (long)(((unsigned short)v11) / ((2 ? 63 : ((int)v0)) | 1))); }
BEGIN { printf("%d\n", (long)(+ ((!v1) >> (v9 ? 4294967296 : ((long)v3))))); }
BEGIN { printf("%d\n", (long)((((v4 == v4) << (v0 ? 4611686018427387904 : ((long)v11))) ^^ (((char)v14) + (!32767))) != ((v8 * (255 % ((v9 & 127) | 1))) - (~ ((unsigned short)32767))))); }
BEGIN { printf("%d\n", (long)(v4 | v4)); }
BEGIN { printf("%d\n", (long)((- v5) % (((1 >> v13) & 127) | 1))); }
BEGIN { printf("%d\n", (long)((((unsigned char)4611686018427387904) << (4611686018427387904 < 128)) ? ((3 >> v6) ^^ (v15 << 2147483648)) : (!((unsigned char)v11)))); }
BEGIN { printf("%d\n", (long)((((unsigned char)(v4 / (v13 | 1))) || ((63 > v9) < (v7 & v5))) ? (((v15 / (v3 | 1)) & (v1 % ((v3 & 127) | 1))) || ((v0 & 4294967295) >> (~ 100))) : (~ v4))); }
BEGIN { printf("%d\n", (long)((short)1)); }
BEGIN { printf("%d\n", (long)((v0 << v12) - (+ v10))); }
BEGIN { printf("%d\n", (long)((((long)v15) * (v7 && 2147483648)) != ((v0 | v8) <= (v3 * 2)))); }
BEGIN { printf("%d\n", (long)((!((7 - 31) == (!127))) ^^ (((2147483648 >> 4294967296) >> (- v13)) | ((v1 < 9223372036854775807) & v3)))); }
BEGIN { printf("%d\n", (long)(v11 != 9223372036854775807)); }
BEGIN { printf("%d\n", (long)(!(3 != 9223372036854775807))); }
BEGIN { printf("%d\n", (long)((unsigned int)((v10 & v7) < (v3 < 8)))); }
BEGIN { printf("%d\n", (long)((128 >> ((v10 / (4611686018427387904 | 1)) ? (4611686018427387904 || 31) : (v8 - 7))) != v0)); }
BEGIN { printf("%d\n", (long)((unsigned long)4611686018427387904)); }
BEGIN { printf("%d\n", (long)(!(63 << v12))); }
BEGIN { printf("%d\n", (long)(- ((4611686018427387904 | v7) + v5))); }
BEGIN { printf("%d\n", (long)(((+ (v12 ^^ 3)) + ((v7 || 0) - (8 % ((v10 & 127) | 1)))) ^^ (((!v8) && (v5 >> 4294967295)) ^^ v4))); }
BEGIN { printf("%d\n", (long)(v14 | v4)); }
BEGIN { printf("%d\n", (long)((v7 >= v14) - (v1 - v12))); }
BEGIN { printf("%d\n", (long)(+ (+ v12))); }
BEGIN { printf("%d\n", (long)(((unsigned short)((v14 % ((v3 & 127) | 1)) ^ (~ 1))) | (((v6 >> v12) <= ((unsigned short)128)) * ((- 2147483647) == (v5 >= 2147483648))))); }
BEGIN { printf("%d\n", (long)((int)255)); }
BEGIN { printf("%d\n", (long)((v12 + 2147483648) > (v1 / (256 | 1)))); }
BEGIN { printf("%d\n", (long)(((2 >> v1) ^^ ((short)64)) << (((long)v12) <= ((int)v11)))); }
BEGIN { printf("%d\n", (long)((unsigned long)v10)); }
BEGIN { printf("%d\n", (long)(63 ^^ v11)); }
BEGIN { printf("%d\n", (long)((v0 <= v10) ? (v11 << v15) : ((unsigned short)(v0 << 100)))); }
BEGIN { printf("%d\n", (long)(((63 & 1) & (- 63)) >> ((63 <= v4) % (((~ v3) & 127) | 1)))); }
BEGIN { printf("%d\n", (long)(((unsigned short)((v14 << 1) & v5)) ^^ (((v3 ? v3 : ((unsigned short)256)) ^^ (v11 ^ v0)) >> v5))); }
BEGIN { printf("%d\n", (long)(v2 < v5)); }
BEGIN { printf("%d\n", (long)v6); }
BEGIN { printf("%d\n", (long)(((v13 >> 127) - v3) << ((v13 != v15) && (!v15)))); }
BEGIN { printf("%d\n", (long)(~ (((v1 % ((256 & 127) | 1)) && (v15 ^ 9223372036854775807)) % (((v0 | (v0 < v9)) & 127) | 1)))); }
BEGIN { printf("%d\n", (long)(!31)); }
BEGIN { printf("%d\n", (long)((~ 32) - 9223372036854775807)); }
BEGIN { printf("%d\n", (long)(+ ((2 << 255) == (32 >= 128)))); }
BEGIN { printf("%d\n", (long)(((char)(~ (- 255))) % ((((unsigned long)((v9 && 4294967296) == (v7 == v5))) & 127) | 1))); }
BEGIN { printf("%d\n", (long)((unsigned char)v1)); }
BEGIN { printf("%d\n", (long)(- v10)); }
BEGIN { printf("%d\n", (long)(((8 == v1) == (v10 || v0)) + ((v3 * v10) <= (v1 ^ 127)))); }
BEGIN { printf("%d\n", (long)v6); }
BEGIN { printf("%d\n", (long)(v1 <= 3)); }
BEGIN { printf("%d\n", (long)32); }
BEGIN { printf("%d\n", (long)(+ ((~ v14) + ((long)128)))); }
BEGIN { printf("%d\n", (long)32767); }
BEGIN { printf("%d\n", (long)((unsigned char)v13)); }
BEGIN { printf("%d\n", (long)((v10 ^ v15) != (v4 % ((9223372036854775807 & 127) | 1)))); }
BEGIN { printf("%d\n", (long)(((v15 & v13) >> (7 ^ 2)) * ((- 127) < ((unsigned int)v3)))); }
BEGIN { printf("%d\n", (long)((- 64) % (((((32 - v8) % (((v13 % ((256 & 127) | 1)) & 127) | 1)) & ((v7 - 7) ^^ (v1 ^ 2))) & 127) | 1))); }
BEGIN { printf("%d\n", (long)(- v6)); }
BEGIN { printf("%d\n", (long)(((char)127) + (v10 ^ 2147483647))); }
BEGIN { printf("%d\n", (long)((((int)v10) || v10) & ((v0 ? v9 : ((unsigned char)v13)) % (((v15 == v8) & 127) | 1)))); }
BEGIN { printf("%d\n", (long)(v6 & ((v15 / ((+ 2147483647) | 1)) || ((v11 || v11) | (v2 << v11))))); }
BEGIN { printf("%d\n", (long)(2147483647 + v5)); }
BEGIN { printf("%d\n", (long)((65535 || v12) >= (v5 % ((v5 & 127) | 1)))); }
BEGIN { printf("%d\n", (long)(+ ((v9 == v6) && (100 + v12)))); }
BEGIN { printf("%d\n", (long)((((char)v12) << (((char)v14) ^ (8 & 63))) > (+ 2147483648))); }
BEGIN { printf("%d\n", (long)((unsigned long)v3)); }
BEGIN { printf("%d\n", (long)(~ (v12 ^^ v13))); }
BEGIN { printf("%d\n", (long)(((31 >= 4294967296) & (v14 - v11)) || ((long)v14))); }
BEGIN { printf("%d\n", (long)(+ (((v10 - 32767) || (100 != v14)) % (((+ (v7 << v10)) & 127) | 1)))); }
BEGIN { printf("%d\n", (long)(~ v0)); }
BEGIN { printf("%d\n", (long)(((unsigned short)64) >> (8 | v11))); }
BEGIN { printf("%d\n", (long)(!((64 / (v0 | 1)) - (3 | v5)))); }
BEGIN { printf("%d\n", (long)(((int)((v4 > v10) * (+ v4))) | 32)); }
BEGIN { printf("%d\n", (long)(v2 || v15)); }
BEGIN { printf("%d\n", (long)((128 & v14) & (- 0))); }
BEGIN { printf("%d\n", (long)(((- 100) - (+ v15)) % (((((long)v11) & ((unsigned short)v7)) & 127) | 1))); }
BEGIN { printf("%d\n", (long)((65535 <= v8) | ((unsigned int)(!(v11 ^ v11))))); }
BEGIN { printf("%d\n", (long)((unsigned char)v4)); }
BEGIN { printf("%d\n", (long)((v13 < v3) * ((long)2147483648))); }
BEGIN { printf("%d\n", (long)((!(v11 / (v11 | 1))) << ((unsigned char)(v7 < v15)))); }
BEGIN { printf("%d\n", (long)(((((unsigned int)32767) || (v14 << v5)) < ((4611686018427387904 ? v12 : ((int)v7)) ? (v3 * 63) : (7 << v4))) ^^ ((unsigned long)((v8 + 2) != (65535 % ((2147483647 & 127) | 1)))))); }
BEGIN { printf("%d\n", (long)(4294967296 & 2147483647)); }
BEGIN { printf("%d\n", (long)((v1 < 1) || (v4 >= v6))); }
BEGIN { printf("%d\n", (long)v13); }
BEGIN { printf("%d\n", (long)((((char)(255 ? v2 : ((short)v1))) >> ((v11 ? v4 : 32) ? ((unsigned int)v14) : ((unsigned int)(v12 % ((v0 & 127) | 1))))) >> (((short)(128 + v0)) % ((((unsigned char)(~ v10)) & 127) | 1)))); }
BEGIN { exit(0); }
