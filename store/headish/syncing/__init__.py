"""One history in several stores: what leaves a space as a bundle, and what arrives in one."""
