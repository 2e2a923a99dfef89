"""Adapt Firefox's en→pt student to messages of a compiler."""
