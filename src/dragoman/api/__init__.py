"""Library functions behind the commands: translate, align, inspect, evaluate, prepare, train, export."""
