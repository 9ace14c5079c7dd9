"""A plug-in that is not installed: nobody has its folder on the path."""
CARRIER = "balloon"
