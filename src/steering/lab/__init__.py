"""What does it look like? Agents explore on a page: live from this machine, or recorded in one file."""
