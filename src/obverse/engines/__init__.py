"""Where rows live. A URL's scheme names the module."""
