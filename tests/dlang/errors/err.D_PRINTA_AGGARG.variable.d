BEGIN { printa("%@d", pid); }
