"""The decisions of an objective: comparisons, sampled answers and class weights."""
