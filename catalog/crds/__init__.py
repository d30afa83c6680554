"""What changes between the CRDs of two versions, whether that is safe, and which stored objects it would break."""
