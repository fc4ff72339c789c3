"""Custom kinds: definitions, schemas, rules."""
