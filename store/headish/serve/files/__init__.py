"""The page of ``headish serve`` as files, to be read without a server: ``writing`` writes them, ``links`` leads between
them."""
