# Made by c/generators/generate_user_trace.py from include/user_trace.d; do not edit.
"""The probes of the built-in provider, which every process with pyusdt or its NIF has."""

PROBE_ARGUMENTS: dict[str, tuple[str, ...]] = {
    "user_trace-s1": ("message",),
    "user_trace-i4s4": ("proc", "user_tag", "i1", "i2", "i3", "i4", "s1", "s2", "s3", "s4"),
    **dict.fromkeys(
        (f"user_trace-n{n}" for n in range(951)),
        ("proc", "user_tag", "i1", "i2", "i3", "i4", "s1", "s2", "s3", "s4"),
    ),
}
