"""One verb of the command line per file."""
