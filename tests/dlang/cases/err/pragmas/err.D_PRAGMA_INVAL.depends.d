#pragma D depends_on moon full
BEGIN { }
