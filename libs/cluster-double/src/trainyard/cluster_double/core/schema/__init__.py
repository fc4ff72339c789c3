"""Shapes of kinds, and decoding by them."""
