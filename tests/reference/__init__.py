"""Plain forms of algorithms, which tests compare the fast ones with."""
