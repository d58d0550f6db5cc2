"""Tables in which everybody hides among others: a promise about form, not about ε."""
