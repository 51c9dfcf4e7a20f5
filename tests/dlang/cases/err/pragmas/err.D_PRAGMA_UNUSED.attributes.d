#pragma D attributes Stable/Stable/Common nobody
BEGIN { }
