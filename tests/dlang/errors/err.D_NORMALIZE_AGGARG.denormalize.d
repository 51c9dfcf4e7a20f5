BEGIN { denormalize(1); }
