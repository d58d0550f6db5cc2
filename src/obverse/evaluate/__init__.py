"""How risky a release is: which attacks were tried on it, what they got, and a page to read or to file."""
