"""What benchmarks and tests compare with: complex steps in place of derivatives, sixty digits in place of sixteen, and what
hands feel by the paths of their bodies in place of snapshots."""
