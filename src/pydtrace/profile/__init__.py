"""Profiles: the sampler, counted stacks, and their forms for people and other programs."""
