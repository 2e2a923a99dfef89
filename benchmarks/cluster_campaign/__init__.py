"""Commands on a Ray cluster whose workers, nodes and drivers are killed: the output must be that of one process."""
