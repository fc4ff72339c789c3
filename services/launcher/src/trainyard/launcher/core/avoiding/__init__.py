"""Which nodes jobs keep away from, since attempts ended badly there. Pure.

`blame` says which nodes an attempt's end speaks against, `record` what is known of each node (a fold of the log), `verdict`
when all jobs keep away from one, and `choice` which ones an attempt of a job does.
"""
