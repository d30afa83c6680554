"""What a user writes: one cluster spec, read with positions, checked whole, frozen."""
