pyusdt$nosuch:::user_trace-s1 { trace(1); }
