"""The commands, a module for those that belong together. One is imported when it is asked for."""
