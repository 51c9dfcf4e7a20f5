#pragma D option quiet destructive
BEGIN { }
