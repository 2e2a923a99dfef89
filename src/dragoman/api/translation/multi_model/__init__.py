"""Several models: routes between languages, pivot languages, and `Translators`."""
