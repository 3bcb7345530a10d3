"""A small model with random weights, made on the spot: a real engine needs real weights, and these need no download."""
