"""From an empty folder to a served translator, as a new user does it: every command, its time and its screen."""
