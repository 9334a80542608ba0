"""What users read: names and their repair, notices, progress, warnings, how objects show themselves."""
