"""What every add-on owes right after its installation."""
