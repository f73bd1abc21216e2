"""What every test may use: waiting for a condition, needed programs, free ports."""
