"""Imported by one test only."""
