"""Found only where `sys.path` says so."""
