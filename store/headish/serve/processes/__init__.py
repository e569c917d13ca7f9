"""The processes of ``headish serve``: a parent that starts the others, starts them again, and ends them in order.

``web`` draws pages and answers programs, ``gateway`` passes calls to providers, ``recorder`` stores what passed. Each
has an interpreter of its own: what one computes delays no event of another.
"""
