"""Native stacks without frame pointers: DWARF tables, registers of stopped threads, merged frames."""
