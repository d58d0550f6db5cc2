"""Does every mechanism keep its word, seen from outside: an ε from below beside the ε that is charged."""
