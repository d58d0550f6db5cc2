"""Where random bits come from, and exact draws made of them."""
