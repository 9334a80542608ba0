"""What users do on the page."""
