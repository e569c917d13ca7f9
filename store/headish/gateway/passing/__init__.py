"""A call on its way: to whom it goes, which headers go along, who may send it, and how it passes."""
