"""SQL in, private answers out: parse, resolve, bound, choose, run."""
