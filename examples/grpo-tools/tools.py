"""A tool for sums: the model writes what is to be computed, and reads the result."""


def calculate(left: float, operator: str, right: float) -> str:
    """Compute one step of a sum.

    Args:
        left: The first number.
        operator: What is done with the two (choices: ["+", "-", "*", "/"])
        right: The second number.

    Returns:
        The result.

    """
    results = {"+": left + right, "-": left - right, "*": left * right}
    return f"{left / right if operator == '/' else results[operator]:g}"
