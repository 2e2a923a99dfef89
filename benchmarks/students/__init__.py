"""Firefox's students: quality and speed beside other engines for the same files."""
