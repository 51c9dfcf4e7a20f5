#pragma D attributes Solid/Stable/Common x
BEGIN { }
