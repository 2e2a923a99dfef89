"""Progress in notebooks, shown without any argument where the code runs in an IPython kernel."""
