"""What is remembered between cycles."""
