"""The page of a running job: plain HTML, CSS and JavaScript, which the driver serves and a browser runs."""
