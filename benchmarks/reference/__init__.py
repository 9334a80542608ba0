"""What benchmarks and tests take for true: complex steps in place of derivatives, sixty digits in place of sixteen."""
