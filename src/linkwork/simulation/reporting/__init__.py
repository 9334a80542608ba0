"""What a simulation shows after steps: extremes, warnings, failures, states."""
