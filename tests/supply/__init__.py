"""What is given away: the sdist, the wheel, and what they bring with them (`make supply`)."""
