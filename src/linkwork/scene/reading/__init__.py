"""A scene file, read and checked: keys, values, expressions, faults with their lines."""
