"""Views that are drawn anew each interval: terminal, web page, notebook."""
