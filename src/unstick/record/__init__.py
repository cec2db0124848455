"""What a run writes down: one module for each format."""
