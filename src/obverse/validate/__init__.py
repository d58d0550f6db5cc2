"""Checks and sharper answers that cost no more than they must."""
