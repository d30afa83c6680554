"""Fair shares and reclaim between queues."""
