"""All or nothing: a gang starts whole or not at all."""
