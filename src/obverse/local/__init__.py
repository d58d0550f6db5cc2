"""For people who need not trust the curator: noise is added before an answer is sent."""
