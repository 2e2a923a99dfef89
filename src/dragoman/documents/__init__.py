"""Document formats: extract the text of a file and write translations back into its layout."""
