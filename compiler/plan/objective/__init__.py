"""What an objective decides: comparisons, sampled answers and class weights."""
