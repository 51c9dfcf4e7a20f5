/* NULL strings: compared, assigned, used. */
#pragma D option quiet
string s; string a[string]; int z; string t;
BEGIN { a["x"] = "v"; a["x"] = a["nope"]; printf("1 %d\n", a["x"] == a["none"]); }
BEGIN { self->s = "q"; self->s = a["nope"]; printf("2 %d\n", self->s == a["none"]); }
BEGIN { this->s = a["nope"]; printf("3 %d\n", this->s == a["none"]); }
BEGIN { printf("4 %s\n", this->s); }
BEGIN { s = z ? "a" : a["nope"]; printf("5 %d\n", s == a["none"]); }
BEGIN { t = s; printf("6 %d %d\n", t == a["none"], t == s); }
BEGIN { printf("7 %d %d\n", a["nope"] == a["nope2"], a["nope"] < "a"); }
BEGIN { printf("8 %d\n", (s = "w") == "w"); }
BEGIN { printf("10 %d\n", a["nope"] < a["nope"]); printf("11 %d\n", a["nope"] <= a["nope"]);printf("12 %d\n", a["nope"] >= "a"); printf("13 %d\n", a["nope"] != "a"); printf("14 %d\n", "" < a["nope"]);  printf("15 %d %d\n", "" > a["nope"], a["nope"] != a["no"]); }
BEGIN { printf("16 %s\n", z ? "a" : a["nope"]); }
BEGIN { trace(a["nope"]); }
BEGIN { exit(0); }
