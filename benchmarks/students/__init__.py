"""Firefox's students: quality and speed, compared with other engines for the same files."""
