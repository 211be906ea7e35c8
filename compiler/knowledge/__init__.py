"""Tables of the field (models, accelerators, architectures), with their sources and no logic."""
