"""Import of translation models from other toolkits as bundles. No code from a model file is run."""
