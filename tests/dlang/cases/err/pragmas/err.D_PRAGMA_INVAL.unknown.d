#pragma D options quiet
BEGIN { }
