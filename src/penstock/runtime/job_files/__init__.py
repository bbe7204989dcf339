"""What a job brings along for its functions, beside the program: archives, packages, files."""
