"""Names of addresses: ELF files, symbol tables, demangling, perf maps."""
