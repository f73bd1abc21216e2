"""The tests; they mirror `agent/`."""
