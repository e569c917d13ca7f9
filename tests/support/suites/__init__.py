"""The tests of other projects, on our classes: what gives them ours, what runs them, what notes how each ended."""
