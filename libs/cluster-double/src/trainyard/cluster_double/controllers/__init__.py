"""What a control plane does by itself: jobs, garbage, namespaces, quotas, budgets, nodes, scheduling."""
