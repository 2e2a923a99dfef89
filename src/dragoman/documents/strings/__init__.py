"""Files with the strings of programs: each value is translated in place, the rest of the file stays unchanged."""
