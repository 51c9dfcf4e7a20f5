/* program: events.py
 * options: -q */
pyusdt$target:::user_trace-i4s4 { @small = quantize(arg3); @large[copyinstr(arg1)] = quantize(arg4); }
pyusdt$target:::user_trace-i4s4 { @negative = quantize(arg5); }
