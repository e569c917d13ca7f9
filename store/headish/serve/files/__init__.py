"""The pages of ``headish serve`` as files, to be read without a server: ``writing`` writes them, ``links`` makes the
links between them."""
