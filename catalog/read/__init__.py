"""The file edge of the catalogue: YAML in, values of the model out, every problem with its line."""
