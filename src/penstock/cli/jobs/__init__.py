"""`penstock list`, `show`, `stop`, `savepoint` and `cancel`: what they ask the REST API of jobs that run."""
