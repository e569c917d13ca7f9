"""`headish serve`: what stands above the store while other programs talk through it."""
