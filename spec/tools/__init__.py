"""The keys of other training tools, and what each means in a spec."""
