"""What an outsider can do with what was released, and how sure he can be."""
