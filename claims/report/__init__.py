"""Report of the ledger: Markdown pages, and figures as SVG files with their own style."""
