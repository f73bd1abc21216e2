"""Measures the program against the tools it runs. Prints ratios; asserts nothing."""
