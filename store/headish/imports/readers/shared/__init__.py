"""What several readers do: databases of others, lists that repeat one another, JSON of any layout, times."""
