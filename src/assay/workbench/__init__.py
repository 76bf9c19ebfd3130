"""What commands, pages and agents do, in rooms by subject. Values in, values out."""
