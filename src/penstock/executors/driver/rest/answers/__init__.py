"""What is answered: the views of jobs in the forms of Flink's REST API."""
