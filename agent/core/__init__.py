"""Pure judgement: no input, no output, no clock."""
