"""What is known about APIs, as data: each row with its source."""
