"""Ways of telling people; one per file."""
