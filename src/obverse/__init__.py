"""Obverse: the side of your data that you can show."""

__version__ = "0.1.0"
