# 7 f
BEGIN{ x; }