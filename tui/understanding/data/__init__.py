"""The data set: files, data sets of the Hub, mixtures."""
