"""The plan of a job, as text, as a picture, and for tools."""
