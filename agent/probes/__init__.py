"""Takes readings: runs something with a deadline and hands its text to the core."""
