"""What every service of Trainyard shares: the contract, the lifecycle, the bus and the way a service runs."""
