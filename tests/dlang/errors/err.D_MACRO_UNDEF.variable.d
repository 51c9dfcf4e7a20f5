BEGIN { trace($targt); }
