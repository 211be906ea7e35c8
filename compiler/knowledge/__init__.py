"""Tables of models, accelerators, architectures and so on, with their sources and without logic."""
