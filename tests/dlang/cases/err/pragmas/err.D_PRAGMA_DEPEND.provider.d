#pragma D depends_on provider nobody
BEGIN { }
