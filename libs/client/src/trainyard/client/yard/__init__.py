"""The embedded yard: nats-server and the five services as children of one supervisor on this machine."""
