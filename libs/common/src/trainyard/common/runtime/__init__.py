"""How a service runs: settings, logging, health, metrics, traces, signals. The same for all of them."""
