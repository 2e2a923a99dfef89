"""Clean corpora: repair and normalize text, and drop sentence pairs that are not translations of each other.

Order: `repair`, `apply_filters` with `build_raw_filters`, `normalize_frame`, `apply_filters` with `build_filters`.
"""
