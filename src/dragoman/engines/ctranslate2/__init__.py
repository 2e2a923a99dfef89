"""CTranslate2 inference engine and export."""
