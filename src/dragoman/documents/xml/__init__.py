"""XML formats: TMX and XLIFF, and safe parsing of XML."""
