"""What is known of a table in public, and the one narrow way to its rows."""
