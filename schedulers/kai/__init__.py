"""KAI's API: names, typed models of its custom resources, and the CRDs generated from them."""
