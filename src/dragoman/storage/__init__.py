"""Database of what a service keeps: translation memories, corrections, glossaries, usage."""
