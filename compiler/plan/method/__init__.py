"""The training method: adapters, frozen layers and number formats."""
