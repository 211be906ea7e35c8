"""Numbers with their words: epochs, batches, rates, lengths, layers, shares."""
