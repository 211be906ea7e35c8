"""ftc, the fine-tune compiler: a spec in, scripts that train and quantize out."""

__version__ = "0.1.0"
