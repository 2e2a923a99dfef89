"""One script a contender, run by its own Python: none but our own may import Dragoman."""
