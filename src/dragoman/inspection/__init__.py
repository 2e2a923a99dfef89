"""Display attention maps, details of translations and comparison reports. Imports no torch."""
