"""Says that it is there, and waits until it is told to go on."""

print("ready")
input()
