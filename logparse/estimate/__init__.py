"""What should be, without any log: devices so far."""
