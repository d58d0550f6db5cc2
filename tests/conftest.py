"""Every run of the suite draws the same examples, and a busy machine fails no property."""

from hypothesis import settings

settings.register_profile("steady", deadline=None, derandomize=True)
settings.load_profile("steady")
