"""The version, in one place and readable without importing anything."""

__version__ = "0.1.0"
