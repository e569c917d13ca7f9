"""One history in several stores: write what leaves a space as bundles, and store what arrives in them."""
