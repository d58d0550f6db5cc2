"""Official statistics: tables of counts and amounts, and what keeps a cell from telling of a person."""
