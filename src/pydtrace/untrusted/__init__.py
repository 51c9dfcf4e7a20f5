"""Defences against a hostile target: its files, its memory, its names on a terminal, and what it costs."""
