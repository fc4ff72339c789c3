"""Bringing a proven model onto a running model server: tried under another name first, asked again in its place, taken back
when either fails; and comparing two versions that a server has. `yard deploy` and `yard compare` start it."""
