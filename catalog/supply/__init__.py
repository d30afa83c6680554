"""What add-ons bring with them: images, rights, objects; what that changes between versions; and a bill of materials."""
