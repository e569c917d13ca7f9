"""Code that several readers share: foreign databases, lists that repeat one another, JSON of any layout, times."""
