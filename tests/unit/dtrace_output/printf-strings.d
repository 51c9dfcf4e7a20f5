BEGIN
{
	printf("[%s]", "");
	printf("[%S]", "");
	printf("[%s]", "a");
	printf("[%S]", "a");
	printf("[%s]", "hello, world");
	printf("[%S]", "hello, world");
	printf("[%s]", "q\042b\134s\011tab\012nl\001\177\200\377");
	printf("[%S]", "q\042b\134s\011tab\012nl\001\177\200\377");
	printf("[%s]", "\342\202\254");
	printf("[%S]", "\342\202\254");
	printf("[%s]", "nul\000hidden");
	printf("[%S]", "nul\000hidden");
}
BEGIN
{
	printf("[%10s]", "");
	printf("[%10S]", "");
	printf("[%10s]", "a");
	printf("[%10S]", "a");
	printf("[%10s]", "hello, world");
	printf("[%10S]", "hello, world");
	printf("[%10s]", "q\042b\134s\011tab\012nl\001\177\200\377");
	printf("[%10S]", "q\042b\134s\011tab\012nl\001\177\200\377");
	printf("[%10s]", "\342\202\254");
	printf("[%10S]", "\342\202\254");
	printf("[%10s]", "nul\000hidden");
	printf("[%10S]", "nul\000hidden");
}
BEGIN
{
	printf("[%-10s]", "");
	printf("[%-10S]", "");
	printf("[%-10s]", "a");
	printf("[%-10S]", "a");
	printf("[%-10s]", "hello, world");
	printf("[%-10S]", "hello, world");
	printf("[%-10s]", "q\042b\134s\011tab\012nl\001\177\200\377");
	printf("[%-10S]", "q\042b\134s\011tab\012nl\001\177\200\377");
	printf("[%-10s]", "\342\202\254");
	printf("[%-10S]", "\342\202\254");
	printf("[%-10s]", "nul\000hidden");
	printf("[%-10S]", "nul\000hidden");
}
BEGIN
{
	printf("[%.2s]", "");
	printf("[%.2S]", "");
	printf("[%.2s]", "a");
	printf("[%.2S]", "a");
	printf("[%.2s]", "hello, world");
	printf("[%.2S]", "hello, world");
	printf("[%.2s]", "q\042b\134s\011tab\012nl\001\177\200\377");
	printf("[%.2S]", "q\042b\134s\011tab\012nl\001\177\200\377");
	printf("[%.2s]", "\342\202\254");
	printf("[%.2S]", "\342\202\254");
	printf("[%.2s]", "nul\000hidden");
	printf("[%.2S]", "nul\000hidden");
}
BEGIN
{
	printf("[%10.2s]", "");
	printf("[%10.2S]", "");
	printf("[%10.2s]", "a");
	printf("[%10.2S]", "a");
	printf("[%10.2s]", "hello, world");
	printf("[%10.2S]", "hello, world");
	printf("[%10.2s]", "q\042b\134s\011tab\012nl\001\177\200\377");
	printf("[%10.2S]", "q\042b\134s\011tab\012nl\001\177\200\377");
	printf("[%10.2s]", "\342\202\254");
	printf("[%10.2S]", "\342\202\254");
	printf("[%10.2s]", "nul\000hidden");
	printf("[%10.2S]", "nul\000hidden");
}
BEGIN
{
	printf("[%-10.2s]", "");
	printf("[%-10.2S]", "");
	printf("[%-10.2s]", "a");
	printf("[%-10.2S]", "a");
	printf("[%-10.2s]", "hello, world");
	printf("[%-10.2S]", "hello, world");
	printf("[%-10.2s]", "q\042b\134s\011tab\012nl\001\177\200\377");
	printf("[%-10.2S]", "q\042b\134s\011tab\012nl\001\177\200\377");
	printf("[%-10.2s]", "\342\202\254");
	printf("[%-10.2S]", "\342\202\254");
	printf("[%-10.2s]", "nul\000hidden");
	printf("[%-10.2S]", "nul\000hidden");
}
BEGIN
{
	printf("[%010s]", "");
	printf("[%010S]", "");
	printf("[%010s]", "a");
	printf("[%010S]", "a");
	printf("[%010s]", "hello, world");
	printf("[%010S]", "hello, world");
	printf("[%010s]", "q\042b\134s\011tab\012nl\001\177\200\377");
	printf("[%010S]", "q\042b\134s\011tab\012nl\001\177\200\377");
	printf("[%010s]", "\342\202\254");
	printf("[%010S]", "\342\202\254");
	printf("[%010s]", "nul\000hidden");
	printf("[%010S]", "nul\000hidden");
}
BEGIN
{
	printf("[%+5s]", "");
	printf("[%+5S]", "");
	printf("[%+5s]", "a");
	printf("[%+5S]", "a");
	printf("[%+5s]", "hello, world");
	printf("[%+5S]", "hello, world");
	printf("[%+5s]", "q\042b\134s\011tab\012nl\001\177\200\377");
	printf("[%+5S]", "q\042b\134s\011tab\012nl\001\177\200\377");
	printf("[%+5s]", "\342\202\254");
	printf("[%+5S]", "\342\202\254");
	printf("[%+5s]", "nul\000hidden");
	printf("[%+5S]", "nul\000hidden");
}
BEGIN
{
	printf("[%.0s]", "");
	printf("[%.0S]", "");
	printf("[%.0s]", "a");
	printf("[%.0S]", "a");
	printf("[%.0s]", "hello, world");
	printf("[%.0S]", "hello, world");
	printf("[%.0s]", "q\042b\134s\011tab\012nl\001\177\200\377");
	printf("[%.0S]", "q\042b\134s\011tab\012nl\001\177\200\377");
	printf("[%.0s]", "\342\202\254");
	printf("[%.0S]", "\342\202\254");
	printf("[%.0s]", "nul\000hidden");
	printf("[%.0S]", "nul\000hidden");
}
BEGIN
{
	printf("[%300s]", "");
	printf("[%300S]", "");
	printf("[%300s]", "a");
	printf("[%300S]", "a");
	printf("[%300s]", "hello, world");
	printf("[%300S]", "hello, world");
	printf("[%300s]", "q\042b\134s\011tab\012nl\001\177\200\377");
	printf("[%300S]", "q\042b\134s\011tab\012nl\001\177\200\377");
	printf("[%300s]", "\342\202\254");
	printf("[%300S]", "\342\202\254");
	printf("[%300s]", "nul\000hidden");
	printf("[%300S]", "nul\000hidden");
}
BEGIN
{
	printf("[%.300s]", "");
	printf("[%.300S]", "");
	printf("[%.300s]", "a");
	printf("[%.300S]", "a");
	printf("[%.300s]", "hello, world");
	printf("[%.300S]", "hello, world");
	printf("[%.300s]", "q\042b\134s\011tab\012nl\001\177\200\377");
	printf("[%.300S]", "q\042b\134s\011tab\012nl\001\177\200\377");
	printf("[%.300s]", "\342\202\254");
	printf("[%.300S]", "\342\202\254");
	printf("[%.300s]", "nul\000hidden");
	printf("[%.300S]", "nul\000hidden");
}
BEGIN
{
	exit(0);
}
