"""Measure trained models and single parts."""
