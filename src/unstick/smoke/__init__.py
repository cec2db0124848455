"""A gas that fills the domain, with smoke and heat in it: the stages of the liquid's step where they are the same, and its own."""
