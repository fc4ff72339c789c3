"""The process that stands over one rank. Standard library only: it starts in milliseconds and depends on no release."""
