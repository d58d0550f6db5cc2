"""Rows of people who are not there: drawn from noisy counts of those who are."""
