"""How far event time has come: generators, and the joining of watermarks of several channels."""
