"""Datasets and tensors between jobs and services: over Arrow Flight, or the same memory where both are on one host.

`server` answers over a `store`; `client` asks. `order` says which rank sees which rows.
"""
