"""What tests of every package use: a real nats-server, builders of specs and events, fixtures. Not for production."""
