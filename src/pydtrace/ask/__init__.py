"""An agent's door: small typed questions about what programs do, which change nothing."""

PERMISSIONS = {
    "attach": "bring the provider python into programs, and take it out",
    "values": "show local variables of programs; secrets stay hidden",
}  # what the person who starts it may allow
