"""One module a framework, all of one form (`port.Bridge`); `registry` finds the one of a tensor or of a name."""
