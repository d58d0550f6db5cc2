"""Who has spent what, and who may."""
