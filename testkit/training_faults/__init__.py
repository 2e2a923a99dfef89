"""Kill, stop and disturb training runs, and compare what they leave."""
