"""What runs inside an environment: scripts that know one toolkit each, and nothing of the others."""
