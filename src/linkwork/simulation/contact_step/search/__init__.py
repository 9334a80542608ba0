"""Which contacts a step has: where they are, who carries them, which are new."""
