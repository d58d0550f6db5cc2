"""The one door: plan, charge, run, keep, hand over."""
