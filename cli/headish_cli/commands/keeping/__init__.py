"""What keeps a store in step with other systems, and says who wrote what."""
