"""Objects that users may hold and change later: which they are, and copies of them."""
